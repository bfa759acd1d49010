"""Programs of rollouts, as somebody writes them with LangGraph."""

from typing import Any

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent


@tool
def note(number: float = 0.0, why: str = "") -> str:
    """Write a number down."""
    return f"noted {number:g} {why}".strip()


def play(task: dict[str, Any]) -> float:
    agent = create_react_agent(ChatOpenAI(model="policy"), [note], name="clerk")
    state = agent.invoke({"messages": task["messages"]})
    return float(state["messages"][-1].content == "done")


def respond(task: dict[str, Any]) -> float:
    """With the Responses API, and a stream."""
    model = ChatOpenAI(model="policy", use_responses_api=True, streaming=True)
    state = create_react_agent(model, [note]).invoke({"messages": task["messages"]})
    return float(state["messages"][-1].text == "done")
