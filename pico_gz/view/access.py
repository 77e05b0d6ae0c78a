"""Who may look: loopback, or the run's token.

Browsers are the danger here, not programs on this machine: any web page may try to reach
127.0.0.1. So the ``Host`` of a request must be ours (no rebound names), a WebSocket's ``Origin``
must be the page we served, and pages may load nothing from elsewhere.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pico_gz.errors import ConfigError

# For health checks of containers, which do not know the token; it answers "ok" or what is wrong.
OPEN_PATHS = frozenset({"/healthz"})
MIN_TOKEN_CHARACTERS = 16

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def choose_token(host: str, given: str = "") -> str:
    """The token a view on ``host`` asks for: the given one, a new one, or none on loopback.

    Raises:
        ConfigError: the given one is too short to be safe.
    """
    if given and len(given) < MIN_TOKEN_CHARACTERS:
        raise ConfigError(
            f"A token of the browser view has at least {MIN_TOKEN_CHARACTERS} characters.",
            hint="Leave PICO_GZ_DASHBOARD_TOKEN empty: a run makes its own.",
        )
    return given or ("" if is_loopback(host) else secrets.token_urlsafe(24))


class AccessGuard:
    """ASGI middleware that checks every request; an empty ``token`` is for loopback only."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token
        # Cookies do not know ports, and several runs may be open at once.
        self._cookie = f"pico_gz_token_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with the security headers added."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal:
            await _refuse(refusal, scope, receive, send)
        elif self._query_token(scope) and scope["path"] == "/":
            await self._welcome(scope, receive, send)
        else:
            await self._app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope, headers: Headers) -> str:
        host = headers.get("host", "")
        if scope["type"] == "websocket" and not _same_origin(headers.get("origin"), host):
            return "Open the view from its own address."
        if not self._token:
            return "" if _host_name(host) in _LOCAL_NAMES else "Use 127.0.0.1 or localhost."
        if scope["path"] in OPEN_PATHS and scope["type"] == "http":
            return ""
        given = (self._query_token(scope), self._cookie_token(headers), _bearer(headers))
        if any(hmac.compare_digest(text.encode(), self._token.encode()) for text in given):
            return ""
        return "This view needs the token of its run: use the address that the run printed."

    async def _welcome(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Swap the token in the address for a cookie, so that it is in no history or picture.

        The address is often a link on another page: a web terminal, a notebook, a chat. A strict
        cookie would not be sent then. With a lax one another page can open the view, and nothing
        more: requests that change something go through the WebSocket, which checks the origin.
        """
        response = RedirectResponse("./", status_code=303)
        response.set_cookie(self._cookie, self._token, httponly=True, samesite="lax")
        await response(scope, receive, _with_headers(send))

    def _query_token(self, scope: Scope) -> str:
        if not self._token:
            return ""
        query_string: bytes = scope.get("query_string", b"")
        return parse_qs(query_string.decode("latin-1")).get("token", [""])[0]

    def _cookie_token(self, headers: Headers) -> str:
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return morsel.value if morsel else ""


def _bearer(headers: Headers) -> str:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else ""


def _same_origin(origin: str | None, host: str) -> bool:
    """Programs send no origin; a browser's page must come from the host it connects to."""
    if origin is None:
        return True
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


async def _refuse(why: str, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        # Closing before accepting answers the handshake with 403.
        await send({"type": "websocket.close", "code": 4403, "reason": why})
    else:
        await PlainTextResponse(f"{why}\n", status_code=403)(scope, receive, _with_headers(send))


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
