"""The graphs of the comparison in Python. `../javascript/graphs.ts` has the same graphs, in the same order."""

import asyncio
from operator import add
from typing import Annotated, Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt


class Log(TypedDict, total=False):
    text: str
    log: Annotated[list[Any], add]


class Context(TypedDict, total=False):
    tone: str


def repeat(state: MessagesState) -> dict:
    return {"messages": [AIMessage(f"You said: {state['messages'][-1].text}")]}


# One node that repeats the message.
echo = StateGraph(MessagesState).add_node("echo", repeat).add_edge(START, "echo").add_edge("echo", END).compile()


def step(name: str):
    def work(state: Log) -> dict:
        get_stream_writer()({"at": name})
        return {"text": state["text"] + name, "log": [name]}

    return work


# Two nodes, one after the other, each with a custom event.
steps = (
    StateGraph(Log)
    .add_node("a", step("a"))
    .add_node("b", step("b"))
    .add_edge(START, "a")
    .add_edge("a", "b")
    .add_edge("b", END)
    .compile()
)


def ask_for(name: str):
    def ask(_state: Log) -> dict:
        return {"log": [f"{name}: {interrupt({'question': name})}"]}

    return ask


# One interrupt.
ask = StateGraph(Log).add_node("ask", ask_for("ask")).add_edge(START, "ask").add_edge("ask", END).compile()

# Two interrupts at once.
both = (
    StateGraph(Log)
    .add_node("left", ask_for("left"))
    .add_node("right", ask_for("right"))
    .add_edge(START, "left")
    .add_edge(START, "right")
    .add_edge("left", END)
    .add_edge("right", END)
    .compile()
)


def explode(_state: Log) -> dict:
    raise ValueError("kaboom")


# A node that succeeds, then one that fails.
boom = (
    StateGraph(Log)
    .add_node("a", step("a"))
    .add_node("fuse", explode)
    .add_edge(START, "a")
    .add_edge("a", "fuse")
    .add_edge("fuse", END)
    .compile()
)

inner = StateGraph(Log).add_node("deep", step("deep")).add_edge(START, "deep").add_edge("deep", END).compile()
# A graph within a graph.
nested = (
    StateGraph(Log)
    .add_node("first", step("first"))
    .add_node("inner", inner)
    .add_edge(START, "first")
    .add_edge("first", "inner")
    .add_edge("inner", END)
    .compile()
)


def look(_state: Log, config: RunnableConfig, runtime: Runtime[Context]) -> dict:
    given = {key: config["configurable"].get(key) for key in ("flavour", "tone")}
    metadata = {key: config.get("metadata", {}).get(key) for key in ("of_config", "of_run", "of_thread")}
    limits = {key: config.get(key) for key in ("max_concurrency", "recursion_limit")}
    context = runtime.context or {}
    tags = sorted(tag for tag in config.get("tags") or [] if not tag.startswith("graph:"))
    return {"log": [{"configurable": given, "metadata": metadata, "context": context, "tags": tags, **limits}]}


# A node that returns its configuration.
seen = StateGraph(Log, Context).add_node("look", look).add_edge(START, "look").add_edge("look", END).compile()


async def wait(state: Log) -> dict:
    for _ in range(int(state["text"])):
        await asyncio.sleep(0.1)
    return {"log": ["waited"]}


# Waits as many tenths of a second as `text` says.
slow = StateGraph(Log).add_node("wait", wait).add_edge(START, "wait").add_edge("wait", END).compile()


class Speaker(BaseChatModel):
    """A model that streams three chunks."""

    @property
    def _llm_type(self) -> str:
        return "speaker"

    def _generate(self, messages, stop=None, run_manager=None, **_more) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("It is 42."))])

    def _stream(self, messages, stop=None, run_manager=None, **_more):
        for text in ("It ", "is ", "42."):
            chunk = ChatGenerationChunk(message=AIMessageChunk(text))
            if run_manager:
                run_manager.on_llm_new_token(text, chunk=chunk)
            yield chunk


async def call(state: MessagesState) -> dict:
    return {"messages": [await Speaker().ainvoke(state["messages"])]}


# A node that calls a model.
model = StateGraph(MessagesState).add_node("model", call).add_edge(START, "model").add_edge("model", END).compile()
