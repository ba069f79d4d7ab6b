"""A model folder from a stranger: every fault is one sentence, and nothing in it is ever run."""

import asyncio
import json
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark.errors import ModelError
from evalmark.models.embeddings.folder import read_folder
from evalmark.models.embeddings.local import LocalEmbedder
from evalmark.models.embeddings.tensors import read_tensor_file

from .tiny import Tiny, safetensors

ONE = {"w": np.arange(6, dtype=np.float32).reshape(2, 3)}


def entry(**changes) -> bytes:
    """A file with one tensor, whose entry in the header says something else."""
    return safetensors(ONE, w={"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} | changes)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"", "not a safetensors file", id="empty"),
        pytest.param(b"\x80\x04N.", "not a safetensors file", id="a short pickle"),
        pytest.param(b"PK\x03\x04" + bytes(60), "not a safetensors file", id="a zip archive, as torch writes it"),
        pytest.param(struct.pack("<Q", 2**63) + b"{}", "not a safetensors file", id="a header of exabytes"),
        pytest.param(struct.pack("<Q", 50) + b"{}", "not a safetensors file", id="a header longer than the file"),
        pytest.param(struct.pack("<Q", 4) + b"\xff\xfe{}", "not JSON", id="a header that is no UTF-8"),
        pytest.param(struct.pack("<Q", 2) + b"{]", "not JSON", id="a header that is no JSON"),
        pytest.param(struct.pack("<Q", 200_000) + b"[" * 200_000, "not JSON", id="a header nested 200,000 deep"),
        pytest.param(struct.pack("<Q", 2) + b"[]", "its header is a list", id="a header that is a list"),
        pytest.param(entry(dtype="Q9"), "tensor 'w' is damaged", id="an unknown type"),
        pytest.param(entry(dtype=["F32"]), "tensor 'w' is damaged", id="a type that is a list"),
        pytest.param(entry(shape=[2, 4]), "tensor 'w' is damaged", id="a shape for more numbers"),
        pytest.param(entry(shape=[-2, -3]), "tensor 'w' is damaged", id="a negative shape"),
        pytest.param(entry(shape=[True, 6]), "tensor 'w' is damaged", id="a shape of truth values"),
        pytest.param(entry(shape="23"), "tensor 'w' is damaged", id="a shape that is a text"),
        pytest.param(entry(shape=[2**40, 2**40]), "tensor 'w' is damaged", id="a shape for all atoms"),
        pytest.param(entry(data_offsets=[0]), "tensor 'w' is damaged", id="one offset"),
        pytest.param(entry(data_offsets=[24, 0]), "tensor 'w' is damaged", id="offsets backwards"),
        pytest.param(entry(data_offsets=[8, 32]), "starts at byte", id="a gap before the first tensor"),
        pytest.param(safetensors(ONE, w=7), "tensor 'w' is damaged", id="an entry that is a number"),
        pytest.param(
            safetensors(ONE, v={"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}),
            "the one before ends at",
            id="two tensors over each other",
        ),
        pytest.param(safetensors(ONE)[:-1], "truncated", id="a byte is missing at the end"),
        pytest.param(safetensors(ONE) + b"x", "truncated or damaged", id="a byte too many at the end"),
    ],
)
def test_a_damaged_weight_file_is_refused(content: bytes, said: str, tmp_path: Path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=said) as caught:
        read_tensor_file(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < 600


@given(cut=st.integers(0, 400), junk=st.binary(max_size=40))
@settings(max_examples=200, deadline=None)
def test_any_damage_is_refused_or_harmless(cut: int, junk: bytes, tmp_path_factory: pytest.TempPathFactory):
    whole = safetensors(ONE)
    path = tmp_path_factory.mktemp("fuzz") / "model.safetensors"
    path.write_bytes(whole[:cut] + junk + whole[cut + len(junk) :])
    try:
        tensors = read_tensor_file(path).tensors
    except ModelError:
        return
    assert all(t.offset + t.length <= path.stat().st_size for t in tensors.values())


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        pytest.param("config.json", "{", "not valid JSON", id="broken JSON"),
        pytest.param("config.json", "7", "expected an object", id="a number"),
        pytest.param("config.json", "[" * 100_000, "not valid JSON", id="nested too deep"),
        pytest.param("config.json", " " * 5_000_000, "too many", id="far too large"),
        pytest.param("config.json", {"model_type": "gpt2"}, "model_type is 'gpt2'", id="another family"),
        pytest.param("config.json", {"model_type": None}, "model_type is 'None'", id="no family"),
        pytest.param(
            "config.json", {"num_hidden_layers": 3}, "no tensor 'encoder.layer.2", id="more layers than weights"
        ),
        pytest.param("config.json", {"num_hidden_layers": 10**9}, "no tensor", id="a billion layers"),
        pytest.param("config.json", {"hidden_size": 13}, "not a multiple", id="a width that the heads cannot share"),
        pytest.param("config.json", {"hidden_size": 14}, "config.json requires", id="another width"),
        pytest.param("config.json", {"hidden_size": "12"}, "hidden_size is '12'", id="a width that is a text"),
        pytest.param("config.json", {"num_attention_heads": 0}, "num_attention_heads is 0", id="no heads"),
        pytest.param("config.json", {"vocab_size": 10**6}, "config.json requires", id="more words than weights"),
        pytest.param("config.json", {"hidden_act": "swiglu"}, "hidden_act is 'swiglu'", id="another activation"),
        pytest.param("config.json", {"hidden_act": ["gelu"]}, "hidden_act", id="an activation that is a list"),
        pytest.param("config.json", {"layer_norm_eps": float("nan")}, "layer_norm_eps", id="an epsilon that is NaN"),
        pytest.param("config.json", {"position_embedding_type": "relative_key"}, "absolute", id="relative places"),
        pytest.param("config.json", {"is_decoder": True}, "encoders", id="a decoder"),
        pytest.param(
            "modules.json", [{"type": "x.Dense", "path": "2"}], "module 'Dense'", id="a layer after the pooling"
        ),
        pytest.param(
            "modules.json", [{"type": "x.Pooling", "path": "../.."}], "out of the folder", id="a path upwards"
        ),
        pytest.param("modules.json", [{"type": "x.Pooling", "path": "9"}], "cannot be read", id="a path to nothing"),
        pytest.param(
            "1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "pools by mean or cls", id="max pooling"
        ),
        pytest.param("1_Pooling/config.json", "{}", "by nothing", id="no pooling"),
        pytest.param("tokenizer.json", "{}", "tokenizer.json: cannot be used", id="an empty tokenizer"),
        pytest.param("tokenizer.json", "\x80\x04N.", "tokenizer.json: cannot be used", id="a pickle as tokenizer"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(file: str, content: object, said: str, tmp_path: Path):
    path = Tiny().write(tmp_path) / file
    if isinstance(content, dict):
        content = json.dumps(json.loads(path.read_text(encoding="utf-8")) | content)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with pytest.raises(ModelError, match=said) as caught:
        asyncio.run(LocalEmbedder(tmp_path)(["a"]))
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pkl", "model-00001-of-00002.safetensors"])
def test_other_weights_than_one_safetensors_file_are_refused_and_not_opened(name: str, tmp_path: Path):
    folder = Tiny().write(tmp_path)
    (folder / "model.safetensors").unlink()
    trap = tmp_path / "trap"
    (folder / name).write_bytes(pickle.dumps(Trap(str(trap))))
    with pytest.raises(ModelError, match=r"reads only model\.safetensors") as caught:
        read_folder(folder)
    assert name in str(caught.value)
    assert not trap.exists()


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return (open, (self.path, "w"))


def test_code_in_the_folder_is_not_run(tmp_path: Path):
    changes = {"auto_map": {"AutoModel": "evil.Model"}, "trust_remote_code": True}
    folder = Tiny(config=changes).write(tmp_path)
    (folder / "evil.py").write_text("raise SystemExit", encoding="utf-8")
    assert asyncio.run(LocalEmbedder(folder)(["a"])).shape == (1, 12)


def test_all_missing_files_are_named_at_once(tmp_path: Path):
    with pytest.raises(ModelError, match=r"missing files: config\.json, tokenizer\.json, model\.safetensors"):
        read_folder(tmp_path)


def test_a_tokenizer_of_another_model_is_found_out(tmp_path: Path):
    folder = Tiny().write(tmp_path)
    path = folder / "tokenizer.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"cat": 10', '"cat": 10000'), encoding="utf-8")
    with pytest.raises(ModelError, match=r"gives token 10000, but the model has only 15"):
        asyncio.run(LocalEmbedder(folder)(["the cat"]))


@pytest.mark.parametrize(
    ("changes", "longest"),
    [
        pytest.param({"longest": 10}, 10, id="as sentence_bert_config.json says"),
        pytest.param({"longest": 512}, 24, id="never more than there are places"),
        pytest.param({"longest": None}, 24, id="all places where nothing is said"),
        pytest.param({"longest": None, "family": "roberta"}, 23, id="less the places before the first"),
        pytest.param({"longest": "ten"}, 24, id="a length that is a text is ignored"),
        pytest.param({"longest": 1}, 3, id="never less than one token between the marks"),
    ],
)
def test_how_many_tokens_are_read(changes: dict, longest: int, tmp_path: Path):
    assert read_folder(Tiny(**changes).write(tmp_path)).longest == longest


def test_a_folder_without_modules_is_pooled_by_the_mean_as_it_is(tmp_path: Path):
    folder = Tiny(pooling="cls").write(tmp_path)
    (folder / "modules.json").unlink()
    (folder / "sentence_bert_config.json").unlink()
    wanted = Tiny(normalise=False).vector([2, 9, 10, 3])
    np.testing.assert_allclose(asyncio.run(LocalEmbedder(folder)(["the cat"]))[0], wanted, atol=2e-5)


def test_texts_are_lowered_where_the_folder_says_so(tmp_path: Path):
    folder = Tiny(lower=True).write(tmp_path)
    np.testing.assert_allclose(
        asyncio.run(LocalEmbedder(folder)(["THE Cat"]))[0], Tiny().vector([2, 9, 10, 3]), atol=2e-5
    )
