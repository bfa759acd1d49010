"""Metrics of rollouts with several turns and tools."""

from reinforge.metrics.definition import Metric, MetricFamily

_TOOLS = "environment: tools"

TURNS = (
    Metric(
        "rollout/turns_mean",
        "turns",
        "Turns",
        "Mean turns of the policy per rollout, in all its conversations.",
        when=_TOOLS,
    ),
    Metric("rollout/turns_max", "turns", "Turns, most", "Most turns of a rollout of the step.", when=_TOOLS),
    Metric(
        "rollout/forks_share",
        "share",
        "Rollouts with several conversations",
        "Rollouts whose model calls do not all continue each other, because their program rewrote its history, forked, "
        "or ran sub-agents.",
        "1 without sub-agents: the program changes what it sent before in every rollout, for example leaves out the "
        "reasoning.",
        when="environment: agent",
    ),
    Metric(
        "tools/calls_per_rollout",
        "calls",
        "Tool calls",
        "Mean calls of tools per rollout, also those that failed.",
        "Near 0 from the start: the model does not know the tools. Falling to 0: calling does not pay.",
        when=_TOOLS,
    ),
    Metric(
        "tools/invalid_share",
        "share",
        "Tool calls that cannot run",
        "Calls that could not be read, name no tool, or have wrong arguments, among all calls.",
        "It should fall as the model learns to write calls.",
        "lower",
        when=_TOOLS,
    ),
    Metric(
        "tools/failure_share",
        "share",
        "Tool calls that failed",
        "Calls that ran and ended in an error, a timeout or too much memory, among all calls.",
        "Above a few percent: read the calls beside the completions.",
        "lower",
        when=_TOOLS,
    ),
    Metric(
        "tools/use_share",
        "share",
        "Rollouts that use tools",
        "Rollouts with at least one call that ran, among all rollouts of the step.",
        "Below 35 %, with most of these prompts wrong: the model avoids its tools because they do not help it.",
        when=_TOOLS,
    ),
    Metric(
        "tools/all_wrong_share",
        "share",
        "Wrong in spite of tools",
        "Prompts none of whose rollouts with a call that ran passes (evaluation.pass_above), among prompts that have "
        "such rollouts.",
        "Above 30 % while few rollouts use tools: nothing teaches the model to use them.",
        "lower",
        when=_TOOLS,
    ),
    Metric(
        "tokens/policy_share",
        "share",
        "Tokens of the policy",
        "Tokens that the policy wrote among all tokens of the step's completions.",
        "Below 5 %: most of the update's time is spent on results of tools.",
        when=_TOOLS,
    ),
)

TURN_FAMILIES = (
    MetricFamily(
        "finish/(.+)",
        "share",
        "Rollouts that end with {1}",
        "Share of the step's rollouts that ended because of: {1}.",
        "Many at max_turns, max_tool_calls, length or context: raise that limit, or reward shorter conversations.",
        chart="finishes",
        label="{1}",
    ),
    MetricFamily(
        "rollout/failed/(.+)",
        "share",
        "Rollouts that failed: {1}",
        "Share of the step's rollouts that are not in statistics and loss because of: {1}.",
        "agent_error: read the errors beside the completions. agent_lost: runners died or lost their connection. "
        "agent_timeout: raise rollout_seconds, or shorten what the program does. tool_… and reply_…: a tool or the "
        "simulated user failed; its error is beside the completions.",
        "lower",
        "failed-rollouts",
        "{1}",
    ),
    MetricFamily(
        "tools/(.+)/calls",
        "calls",
        "Calls of {1}",
        "Calls of {1} per rollout.",
        chart="calls-of-tools",
        label="{1}",
    ),
    MetricFamily(
        "tools/(.+)/failure_share",
        "share",
        "Calls of {1} that failed",
        "Calls of {1} with another status than ok, among calls of {1}.",
        "At 1: the tool is broken, or the model never uses it right.",
        "lower",
        "failures-of-tools",
        "{1}",
    ),
    MetricFamily(
        "tools/(.+)/seconds_p95",
        "s",
        "Time of {1}",
        "95th percentile of the time of a call of {1}.",
        "",
        "lower",
        "times-of-tools",
        "{1}",
    ),
)
