"""Masks secrets in a call before it is stored."""

from dataclasses import replace

from evalmark.core.values.call import Call, Reply, Request
from evalmark.inputs.secrets.fields import MASK
from evalmark.inputs.secrets.masks import mask_secrets, mask_secrets_in_data
from evalmark.storage.database.field_specs import REPLY, REQUEST
from evalmark.storage.database.fields import dump_fields, load_fields, may_hold_secrets


def masked_call(call: Call) -> Call:
    """Return the call without secrets, or the call itself if it holds none.

    A call with a secret in its reply is marked `masked`, because the stored reply differs from the model's. A
    call with a secret in its request is marked `altered`; its key still finds it.
    """
    error = call.error and mask_secrets(call.error)
    call = call if error == call.error else replace(call, error=error)
    if not may_hold_secrets(call.request, call.reply):
        return call
    return _reply_masked(_request_masked(call), is_marked=MASK not in str(call.request.texts))


def _request_masked(call: Call) -> Call:
    fields = dump_fields(call.request, REQUEST)
    masked_fields = mask_secrets_in_data(fields)
    if masked_fields is fields:
        return call
    request: Request = load_fields(Request, REQUEST, masked_fields)
    return replace(call, request=request, altered=True)


def _reply_masked(call: Call, *, is_marked: bool) -> Call:
    """Return the call without secrets in its reply. With `is_marked`, secrets that were masked earlier count as well."""
    if call.reply is None:
        return call
    fields = dump_fields(call.reply, REPLY)
    masked_fields = mask_secrets_in_data(fields)
    if masked_fields is fields and not (is_marked and MASK in str(fields)):
        return call
    masked_fields = {
        name: part for name, part in masked_fields.items() if name != "tokens"
    }  # the tokens spell the secret piece by piece
    reply: Reply = load_fields(Reply, REPLY, masked_fields)
    return replace(call, reply=reply, masked=True)
