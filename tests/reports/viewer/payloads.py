"""Texts that would run a script in a page that does not treat them as text; each would set `window.hit`."""

_HIT = "window.hit=1"
_BARE = (
    f"<script>{_HIT}</script>",
    f"<ScRiPt>{_HIT}</sCrIpT>",
    f"</script><script>{_HIT}</script>",
    f"<scr<script>ipt>{_HIT}</scr</script>ipt>",
    f"<img src=x onerror={_HIT}>",
    f"<img src=x onerror='{_HIT}'//",
    f"<svg onload={_HIT}>",
    f"<svg><script>{_HIT}</script></svg>",
    f"<svg><animate onbegin={_HIT} attributeName=x dur=1s>",
    f'<math><mi//xlink:href="data:x,<script>{_HIT}</script>">',
    f"<math><mtext><table><mglyph><style><img src=x onerror={_HIT}></style></mglyph></table></mtext></math>",
    f"<body onload={_HIT}>",
    f"<details open ontoggle={_HIT}>",
    f"<input autofocus onfocus={_HIT}>",
    f"<select autofocus onfocus={_HIT}>",
    f"<video><source onerror={_HIT}></video>",
    f"<iframe srcdoc='<script>parent.{_HIT}</script>'></iframe>",
    f"<iframe src=javascript:parent.{_HIT}></iframe>",
    f"<object data=javascript:{_HIT}></object>",
    f"<a href=javascript:{_HIT} autofocus>x</a>",
    f"[x](javascript:{_HIT})",
    f"![x](x'onerror='{_HIT})",
    f"<style>@import 'data:text/css,*{{}}';</style><link rel=stylesheet href=data:,{_HIT}>",
    f"<meta http-equiv=refresh content='0;url=javascript:{_HIT}'>",
    f"<base href=javascript:{_HIT}//>",
    f"<form><button formaction=javascript:{_HIT} autofocus>x</button></form>",
    f"<template><script>{_HIT}</script></template>",
    f"<noscript><p title='</noscript><img src=x onerror={_HIT}>'>",
    f"$$\\href{{javascript:{_HIT}}}{{x}}$$",
    f"{{{{ self.__init__.__globals__ }}}}{{% raw %}}<script>{_HIT}</script>",
    f"%3Cscript%3E{_HIT}%3C/script%3E",
    f"&lt;script&gt;{_HIT}&lt;/script&gt;",
    f"<img src='http://192.0.2.1/pixel' onload={_HIT}>",
    f'```mermaid\ngraph TD; A-->B; click A "javascript:{_HIT}"\n```',
    f"\u2028<script>{_HIT}</script>\u2029",
    f"\x00<scr\x00ipt>{_HIT}</script>",
)
_AROUND = ("{}", "\"'>{}", "</textarea></title></style>{}", "' {} \"", "-->{}<!--", "]]>{}")
PAYLOADS = [
    around.format(bare) if "{" not in bare else around.replace("{}", bare) for around in _AROUND for bare in _BARE
]
