"""Stand-ins for what the SDK imports and Debian does not package: langchain_core, and websockets 14.

Each is used only where the real one cannot be imported. `install` returns the names of those that are in use.
"""

import asyncio
import sys
import types


def install():
    used = []
    try:
        import langchain_core.language_models.chat_model_stream  # noqa: F401
    except ImportError:
        _langchain_core()
        used.append("langchain_core")
    try:
        import websockets.asyncio.client  # noqa: F401
    except ImportError:
        _websockets()
        used.append("websockets")
    return used


def _module(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


def _langchain_core():
    class Text:
        """The text of one message: iterable, in both ways, once the message has ended or failed."""

        def __init__(self):
            self.parts, self.error, self.done = [], None, False

        def __iter__(self):
            if self.error:
                raise self.error
            return iter(self.parts)

        async def __aiter__(self):
            while not self.done:
                await asyncio.sleep(0.01)
            if self.error:
                raise self.error
            for part in self.parts:
                yield part

    class ChatModelStream:
        def __init__(self, *, namespace=None, node=None, message_id=None):
            self.namespace, self.node, self.message_id = namespace or [], node, message_id
            self.text = Text()

        @property
        def _done(self):
            return self.text.done

        def dispatch(self, event):
            kind, delta = event.get("event"), event.get("delta") or {}
            if kind == "content-block-delta" and delta.get("type") == "text-delta":
                self.text.parts.append(delta["text"])
            elif kind == "message-finish":
                self.text.done = True
            elif kind == "error":
                self.fail(RuntimeError(event.get("message")))

        def fail(self, error):
            self.text.error, self.text.done = error, True

        def set_request_more(self, _callback):
            pass

    name = "langchain_core"
    for parent in (name, f"{name}.language_models"):
        _module(parent, __path__=[])
    _module(
        f"{name}.language_models.chat_model_stream",
        ChatModelStream=ChatModelStream,
        AsyncChatModelStream=ChatModelStream,
    )


def _websockets():
    def connect(*_args, **_kwargs):
        raise RuntimeError("websockets 14 is not installed")

    class Closed(Exception):
        pass

    _module("websockets", __path__=[])
    for kind in ("asyncio", "sync"):
        _module(f"websockets.{kind}", __path__=[])
        _module(f"websockets.{kind}.client", connect=connect)
    _module("websockets.exceptions", ConnectionClosedError=Closed, ConnectionClosedOK=Closed, ConnectionClosed=Closed)
