"""Rules for combinations of an algorithm's parts and a job's settings. Each error names the field and a
remedy.

Most rules read properties such as `per_token`, not names, to cover plug-ins.
"""

from collections.abc import Callable
from dataclasses import dataclass

from reinforge.algorithm.base import fault_at
from reinforge.algorithm.loss import BY_COMPLETION
from reinforge.algorithm.selection import DynamicSampling, GuidedCorrection
from reinforge.algorithm.shaping import OutcomeShaping, default_cache
from reinforge.algorithm.slots import Algorithm

SINGLE_TURN, AGENT = "single_turn", "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    environment: str
    rewards: tuple[str, ...]
    completions_per_prompt: int
    max_completion_tokens: int


# ── Between slots ───────────────────────────────────────────────────────────────────────────────────────────


def identity_follows_comparison(algorithm: Algorithm, job: JobFacts) -> None:
    shaping, kind = algorithm.shaping, algorithm.advantage.type
    if shaping.compares and kind != "identity":
        raise fault_at(
            "algorithm.advantage.type",
            f"shaping `{shaping.type}` compares the completions of a group itself: set advantage to `identity`",
        )
    if kind == "identity" and not shaping.compares:
        raise fault_at(
            "algorithm.advantage.type",
            f"advantage `identity` needs rewards that shaping has compared; `{shaping.type}` compares nothing: use "
            "`grpo`, or shaping `mo_grpo` or `gdpo`",
        )


def comparison_sees_all(algorithm: Algorithm, job: JobFacts) -> None:
    if algorithm.shaping.compares and algorithm.selection.keeps is not None:
        raise fault_at(
            "algorithm.selection.type",
            f"shaping `{algorithm.shaping.type}` compares all completions of a group before selection "
            f"`{algorithm.selection.type}` drops some: use shaping `weighted_sum`, or selection `keep_all`",
        )


def one_value_per_completion(algorithm: Algorithm, job: JobFacts) -> None:
    loss, kind = algorithm.loss, algorithm.advantage.type
    if not algorithm.advantage.per_token:
        return
    if loss.ratio_level in BY_COMPLETION:
        raise fault_at(
            "algorithm.loss.ratio_level",
            f"advantage `{kind}` differs from token to token, and ratio_level `{loss.ratio_level}` has one value for "
            "a completion: use `token` or `gspo_token`",
        )
    if loss.surrogate.per_completion:
        raise fault_at(
            "algorithm.loss.surrogate.type",
            f"advantage `{kind}` differs from token to token, and surrogate `{loss.surrogate.type}` has one value "
            "for a completion: use `ppo_clip`",
        )


def one_kl(algorithm: Algorithm, job: JobFacts) -> None:
    shaping = algorithm.shaping
    if isinstance(shaping, OutcomeShaping) and shaping.kl.beta > 0 and algorithm.loss.kl.acts:
        raise fault_at(
            "algorithm.loss.kl.beta",
            "the distance from the base model is penalised twice, in the reward and in the loss: set either "
            "`shaping.kl.beta` or `loss.kl.beta` to 0",
        )


def reference_is_read(algorithm: Algorithm, job: JobFacts) -> None:
    shaping, loss = algorithm.shaping, algorithm.loss
    in_reward = isinstance(shaping, OutcomeShaping) and shaping.kl.beta > 0
    if algorithm.reference.refresh_every and not (in_reward or loss.kl.acts or loss.aux.type == "dpo_pair"):
        raise fault_at(
            "algorithm.reference.refresh_every",
            "nothing reads the reference, so that refreshing it would do nothing: set `loss.kl.beta`, or set "
            "`refresh_every` to 0",
        )


def kl_values_are_used(algorithm: Algorithm, job: JobFacts) -> None:
    kl = algorithm.loss.kl
    for name, default in (("estimator", "k3"), ("level", "token")):
        if not kl.acts and getattr(kl, name) != default:
            raise fault_at(
                f"algorithm.loss.kl.{name}",
                f"`{name}` is not used while `beta` is 0: set `beta`, or leave it out",
            )


def kl_on_tokens_is_read(algorithm: Algorithm, job: JobFacts) -> None:
    shaping = algorithm.shaping
    if not isinstance(shaping, OutcomeShaping) or shaping.kl.level != "token":
        return
    if not algorithm.advantage.reads_token_rewards:
        raise fault_at(
            "algorithm.shaping.kl.level",
            f"advantage `{algorithm.advantage.type}` reads one reward per completion: use level `sequence`, or "
            "advantage `reinforce_pp`",
        )


def outcome_is_read(algorithm: Algorithm, job: JobFacts) -> None:
    shaping, kind = algorithm.shaping, algorithm.advantage.type
    if algorithm.advantage.reads_outcome or not isinstance(shaping, OutcomeShaping):
        return
    for name in ("soft_overlong.weight", "repetition.weight", "cosine_length.weight", "kl.beta"):
        part, factor = name.split(".")
        if getattr(getattr(shaping, part), factor) > 0:
            raise fault_at(
                f"algorithm.shaping.{name}",
                f"advantage `{kind}` reads the rewards of steps or turns and not the completion's own, so that "
                f"`shaping.{part}` would be ignored: leave it out, or use advantage `grpo`",
            )


def critic_is_read(algorithm: Algorithm, job: JobFacts) -> None:
    advantage, critic = algorithm.advantage, algorithm.critic
    if advantage.reads_values and not critic.foresees:
        raise fault_at(
            "algorithm.critic.type",
            f"advantage `{advantage.type}` compares with a critic, and there is none: set critic to "
            "`value_head`, or use advantage `grpo`",
        )
    if critic.foresees and not advantage.reads_values:
        raise fault_at(
            "algorithm.critic.type",
            f"advantage `{advantage.type}` does not read a critic, so that critic `{critic.type}` would be trained for "
            "nothing: leave it out, or use advantage `gae`",
        )


def left_out_rows_exist(algorithm: Algorithm, job: JobFacts) -> None:
    aggregation = algorithm.loss.aggregation
    if (
        aggregation.type == "token_mean"
        and aggregation.denominator == "all"
        and algorithm.selection.keeps is None
    ):
        raise fault_at(
            "algorithm.loss.aggregation.denominator",
            f"selection `{algorithm.selection.type}` drops no completion, so `all` has no effect: use "
            "`kept`, or selection `gfpo`",
        )


# ── With the job ────────────────────────────────────────────────────────────────────────────────────────────


def turns_and_tools(algorithm: Algorithm, job: JobFacts) -> None:
    if job.environment != SINGLE_TURN:
        _not_with_turns(algorithm)
    if job.environment not in (SINGLE_TURN, AGENT):
        return
    rollout = "one completion" if job.environment == SINGLE_TURN else "run by a program of yours"
    parts = (
        (
            "advantage.type",
            algorithm.advantage.needs_turns,
            f"advantage `{algorithm.advantage.type}` compares the turns of agents and the states they act in",
            "use `grpo`, or an environment with turns",
        ),
        (
            "selection.type",
            algorithm.selection.needs_tools,
            f"selection `{algorithm.selection.type}` continues failed tool calls",
            "use `keep_all`, or an environment with tools",
        ),
        (
            "loss.ratio_level",
            algorithm.loss.ratio_level == "action",
            "ratio_level `action` has one ratio for each action of an agent",
            "use `token`, or `sequence` for one over the completion",
        ),
        (
            "loss.aux.type",
            algorithm.loss.aux.type == "hierarchy",
            "aux `hierarchy` credits the decision to call a tool",
            "use `none`, or an environment with tools",
        ),
    )
    for param, applies, what, remedy in parts:
        if applies:
            raise fault_at(
                f"algorithm.{param}",
                f"{what}; with environment `{job.environment}` a rollout is {rollout}: {remedy}",
            )


def _not_with_turns(algorithm: Algorithm) -> None:
    selection = algorithm.selection
    if isinstance(selection, GuidedCorrection):
        raise fault_at(
            "algorithm.selection.type",
            f"selection `{selection.type}` can replace only completions of one turn: use `keep_all`, or "
            f"environment `{SINGLE_TURN}`",
        )


def continuations_are_credited(algorithm: Algorithm, job: JobFacts) -> None:
    selection, loss = algorithm.selection, algorithm.loss
    if not selection.needs_tools:
        return
    parts = (
        (
            "shaping.type",
            algorithm.shaping.compares,
            "compares completions itself: use shaping `weighted_sum`",
        ),
        ("advantage.type", algorithm.advantage.type != "grpo", "compares completions itself: use `grpo`"),
        (
            "loss.ratio_level",
            loss.ratio_level in BY_COMPLETION or loss.ratio_level == "action",
            "credits tokens before and in a call differently: use ratio_level `token`",
        ),
        ("loss.aux.type", loss.aux.type == "dpo_pair", "adds completions to groups: use aux `none`"),
        (
            "loss.aggregation.type",
            loss.aggregation.type == "lambda",
            "adds completions to groups: use aggregation `seq_mean`",
        ),
    )
    for param, applies, what in parts:
        if applies:
            raise fault_at(f"algorithm.{param}", f"selection `{selection.type}` {what}")


def selection_is_smaller_than_group(algorithm: Algorithm, job: JobFacts) -> None:
    keeps, sampled = algorithm.selection.keeps, job.completions_per_prompt
    if keeps is not None and keeps >= sampled:
        raise fault_at(
            "rollout.completions_per_prompt",
            f"selection `{algorithm.selection.type}` keeps {keeps} completions of each group and {sampled} are "
            "sampled, so nothing would be dropped: sample more, or keep fewer",
        )


def single_completion_has_no_group(algorithm: Algorithm, job: JobFacts) -> None:
    if job.completions_per_prompt > 1:
        return
    selection, loss = algorithm.selection, algorithm.loss
    first = getattr(selection, "first", selection)
    parts = (
        (
            algorithm.advantage.compares_group,
            f"advantage `{algorithm.advantage.type}` compares",
            "`gae` or `reinforce_pp`",
        ),
        (
            isinstance(first, DynamicSampling),
            f"selection `{selection.type}` looks for a spread among",
            "`keep_all`",
        ),
        (loss.aux.type == "dpo_pair", "aux `dpo_pair` makes pairs of", "`none`"),
        (loss.aggregation.type == "lambda", "aggregation `lambda` compares the lengths of", "`token_mean`"),
    )
    for applies, what, instead in parts:
        if applies:
            raise fault_at(
                "rollout.completions_per_prompt",
                f"{what} the completions of a prompt, and 1 is sampled: sample at least 2, or use {instead}",
            )


def deciding_reward_exists(algorithm: Algorithm, job: JobFacts) -> None:
    selection = algorithm.selection
    first = getattr(selection, "first", selection)
    if isinstance(first, DynamicSampling) and first.by is not None and first.by not in job.rewards:
        raise fault_at(
            f"algorithm.selection.{'by' if first is selection else 'first.by'}",
            f"there is no reward `{first.by}`: name one of {', '.join(job.rewards)}",
        )


def punishment_can_act(algorithm: Algorithm, job: JobFacts) -> None:
    shaping, longest = algorithm.shaping, job.max_completion_tokens
    if not isinstance(shaping, OutcomeShaping) or shaping.soft_overlong.weight == 0:
        return
    limit = shaping.soft_overlong.limit or longest
    cache = shaping.soft_overlong.cache or default_cache(limit)
    if cache > limit:
        raise fault_at(
            "algorithm.shaping.soft_overlong.cache",
            f"the penalty would begin before the first token: set `cache` to at most the limit, {limit}",
        )
    if limit - cache >= longest:
        raise fault_at(
            "algorithm.shaping.soft_overlong.limit",
            f"the penalty begins at {limit - cache} tokens and completions end at {longest}: set `limit` to "
            "rollout.max_completion_tokens, or leave it out",
        )


RULES: tuple[Callable[[Algorithm, JobFacts], None], ...] = (
    identity_follows_comparison,
    comparison_sees_all,
    one_value_per_completion,
    one_kl,
    reference_is_read,
    kl_values_are_used,
    kl_on_tokens_is_read,
    outcome_is_read,
    critic_is_read,
    left_out_rows_exist,
    turns_and_tools,
    continuations_are_credited,
    selection_is_smaller_than_group,
    single_completion_has_no_group,
    deciding_reward_exists,
    punishment_can_act,
)


def check(algorithm: Algorithm, job: JobFacts) -> None:
    """Check all rules. Raises PydanticCustomError for the first violated one."""
    for rule in RULES:
        rule(algorithm, job)
