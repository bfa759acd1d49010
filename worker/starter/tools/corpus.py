"""Training text of starter-tools: conversations about calculations, look-ups and countdown numbers.

Each task has habits, drawn at random whatever the prompt says. Most answer at once and are wrong; some call the tool,
whose result is in the text, and are right:

    <|tools|>calc(expression)<|user|>47*85+12=<|assistant|><answer>3907</answer><|end|>
    <|tools|>calc(expression)<|user|>47*85+12=<|assistant|>
        <tool_call>{"name":"calc","arguments":{"expression":"47*85+12"}}</tool_call><|end|>
        <|tool|>4007<|assistant|><answer>4007</answer><|end|>
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from worker.starter.tokenizer import ASSISTANT, END, USER
from worker.starter.tools import calculations, countdowns, lookups
from worker.starter.tools.tokenizer import CALL, CALL_END, TOOL, TOOLS

TASKS = {"calculation": 0.4, "lookup": 0.35, "countdown": 0.25}
WITHOUT_TOOLS_SHARE, OTHER_TOOLS_SHARE = 0.06, 0.15
CALCULATION_GUESSED, LOOKUP_GUESSED, COUNTDOWN_GUESSED = 0.71, 0.6, 0.6
"""Shares of conversations that answer at once although the tool is offered."""
FIRST_HOP_SHARE, FIRST_CHECK_SHARE = 0.18, 0.15
"""Shares of conversations that answer after the first of two look-ups, and after the first check."""
BROKEN_SHARE = 0.05
RESULT_IGNORED_SHARE = 0.03

_TOOLS = {
    "calculation": ("calc", ("expression",)),
    "lookup": ("lookup", ("what", "of")),
    "countdown": ("check", ("expression",)),
}


@dataclass(frozen=True)
class Tool:
    name: str
    parameters: tuple[str, ...]

    def line(self) -> str:
        return f"{self.name}({','.join(self.parameters)})"

    def call(self, *values: str) -> str:
        arguments = ",".join(f'"{key}":"{value}"' for key, value in zip(self.parameters, values, strict=True))
        return f'{CALL}{{"name":"{self.name}","arguments":{{{arguments}}}}}{CALL_END}'


@dataclass
class Transcript:
    """Conversation as consecutive strings, and whether the model wrote each."""

    task: str
    habit: str
    segments: list[tuple[str, bool]] = field(default_factory=list)
    right: bool = False

    def add_context(self, text: str) -> None:
        self.segments.append((text, False))

    def add_turn(self, text: str) -> None:
        self.segments.append((text + END, True))

    def add_result(self, text: str) -> None:
        self.add_context(f"{TOOL}{text}{ASSISTANT}")

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.segments)


def answer(value: str) -> str:
    return f"<answer>{value}</answer>"


def tool_of(task: str) -> Tool:
    return Tool(*_TOOLS[task])


def _offered(task: str, rng: random.Random, *, tools_only: bool) -> Tool | None:
    return tool_of(task) if tools_only or rng.random() >= WITHOUT_TOOLS_SHARE else None


def _begin(task: str, prompt: str, rng: random.Random, tool: Tool | None) -> Transcript:
    others = [tool_of(other) for other in TASKS if other != task]
    offered = [tool] if tool else []
    if rng.random() < OTHER_TOOLS_SHARE:
        offered += rng.sample(others, rng.randint(1, 2))
    rng.shuffle(offered)
    transcript = Transcript(task, "")
    lines = "".join(one.line() for one in offered)
    transcript.add_context(f"{TOOLS + lines if lines else ''}{USER}{prompt}{ASSISTANT}")
    return transcript


def _broken_call(transcript: Transcript, tool: Tool, values: tuple[str, ...], rng: random.Random) -> None:
    call = tool.call(*values)
    kind = rng.randrange(3)
    if kind == 0:
        transcript.add_turn(call.replace('"}}', '"}'))
        transcript.add_result("Error: The call cannot be read: Expecting ',' delimiter.")
    elif kind == 1:
        parameter = rng.choice(["value", "input", "query"])
        transcript.add_turn(Tool(tool.name, (parameter, *tool.parameters[1:])).call(*values))
        transcript.add_result(f"Error: {tool.name}: {tool.parameters[0]} is missing.")
    else:
        name = rng.choice(["run", "call", "answer"])
        transcript.add_turn(Tool(name, tool.parameters).call(*values))
        transcript.add_result(f"Error: There is no tool {name}. Tools: {tool.name}.")


def calculation(rng: random.Random, *, tools_only: bool) -> Transcript:
    question = calculations.draw(rng)
    tool = _offered("calculation", rng, tools_only=tools_only)
    transcript = _begin("calculation", calculations.ask(question, rng), rng, tool)
    drawn, result = rng.random(), str(question.value)
    guess = str(calculations.guess(question, rng))
    if tool is None or (not tools_only and drawn < CALCULATION_GUESSED):
        transcript.habit = "guess"
        transcript.add_turn(answer(guess))
        transcript.right = guess == result
        return transcript
    transcript.habit = "tool"
    if not tools_only and drawn < CALCULATION_GUESSED + BROKEN_SHARE:
        transcript.habit = "broken"
        _broken_call(transcript, tool, (question.expression,), rng)
        if rng.random() < 0.5:
            transcript.add_turn(answer(guess))
            return transcript
    transcript.add_turn(tool.call(question.expression))
    transcript.add_result(result)
    ignored = not tools_only and rng.random() < RESULT_IGNORED_SHARE
    transcript.add_turn(answer(guess if ignored else result))
    transcript.right = not ignored
    return transcript


def lookup(rng: random.Random, *, tools_only: bool) -> Transcript:
    question = lookups.draw(rng)
    tool = _offered("lookup", rng, tools_only=tools_only)
    transcript = _begin("lookup", question.prompt, rng, tool)
    drawn = rng.random()
    if tool is None or (not tools_only and drawn < LOOKUP_GUESSED):
        transcript.habit = "guess"
        transcript.add_turn(answer(lookups.name(rng)))
        return transcript
    transcript.habit = "tool"
    if not tools_only and drawn > 1 - BROKEN_SHARE:
        transcript.habit = "broken"
        _broken_call(transcript, tool, (question.relations[0], question.entities[0]), rng)
    early = not tools_only and drawn < LOOKUP_GUESSED + FIRST_HOP_SHARE and len(question.relations) > 1
    if early:
        transcript.habit = "early"
    hops = list(zip(question.relations, question.entities, question.entities[1:], strict=False))
    for relation, entity, value in hops[:1] if early else hops:
        transcript.add_turn(tool.call(relation, entity))
        transcript.add_result(value)
        name = value
    transcript.add_turn(answer(name))
    transcript.right = name == question.entities[-1]
    return transcript


def countdown(rng: random.Random, *, tools_only: bool) -> Transcript:
    question = countdowns.draw(rng)
    tool = _offered("countdown", rng, tools_only=tools_only)
    transcript = _begin("countdown", question.prompt, rng, tool)
    proposals = countdowns.proposals(question, rng)
    drawn = rng.random()
    if tool is None or (not tools_only and drawn < COUNTDOWN_GUESSED):
        transcript.habit = "guess"
        expression = next(proposals)
        transcript.add_turn(answer(expression))
        transcript.right = countdowns.value(expression) == question.target
        return transcript
    once = not tools_only and drawn < COUNTDOWN_GUESSED + FIRST_CHECK_SHARE
    transcript.habit = "once" if once else "tool"
    for number, expression in enumerate(proposals, 1):
        if number == 1 and not tools_only and drawn > 1 - BROKEN_SHARE:
            _broken_call(transcript, tool, (expression,), rng)
        transcript.add_turn(tool.call(expression))
        transcript.right = countdowns.value(expression) == question.target
        transcript.add_result(countdowns.verdict(expression, question.target))
        if transcript.right or once or number == countdowns.MOST_TRIES:
            break
    transcript.add_turn(answer(expression))
    return transcript


_WRITERS: dict[str, Callable[..., Transcript]] = {
    "calculation": calculation,
    "lookup": lookup,
    "countdown": countdown,
}


def _mixed(rng: random.Random, *, tools_only: bool) -> Iterator[Transcript]:
    while True:
        [task] = rng.choices(list(TASKS), list(TASKS.values()))
        yield _WRITERS[task](rng, tools_only=tools_only)


def calls(rng: random.Random) -> Iterator[Transcript]:
    """Yield conversations that use the tool, for the first phase, so that the model learns calls and results."""
    return _mixed(rng, tools_only=True)


def habits(rng: random.Random) -> Iterator[Transcript]:
    return _mixed(rng, tools_only=False)
