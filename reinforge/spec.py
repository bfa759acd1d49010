"""`JobSpec`: the job as declared, shared by API, SDK, command line, worker and form.

Unknown keys are errors. A job is stored with its specification as sent and as resolved (`JobSpec.resolved`).
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator, model_validator
from pydantic_core import PydanticCustomError, PydanticKnownError

from reinforge.algorithm.base import Probability, SpecModel, fault_at
from reinforge.algorithm.rules import JobFacts
from reinforge.algorithm.rules import check as check_rules
from reinforge.algorithm.slots import Algorithm, fill_critic, fill_lengths, fill_mismatch, fill_packages
from reinforge.base_models.learning_rate import AUTO, auto_initial_learning_rate, auto_learning_rate
from reinforge.dataset.columns import ColumnRoles
from reinforge.diagnosis.finding import FindingCode
from reinforge.environment_spec import AgentSpec, EnvironmentSpec, SingleTurnSpec, ToolsSpec
from reinforge.presets import apply_preset
from reinforge.reward_spec import Judge, Name, Reward

# ── Data ────────────────────────────────────────────────────────────────────────────────────────────────────


class DataSpec(SpecModel):
    dataset: str = Field(min_length=1)
    """Dataset id (`file-…`), or a path when training offline."""
    held_out: str | None = None
    """Id or path of a second dataset for evaluation. Without it a share of `dataset` is held out."""
    held_out_rows: int | None = Field(default=None, ge=0, le=100_000)
    """How many rows of `dataset` to hold out without `held_out`; default a tenth, at most 256; 0 for none."""
    split_by: Literal["row", "prompt"] = "row"
    """`prompt`: rows with equal prompts (ignoring white space and case) are all held out, or none is."""
    columns: ColumnRoles = ColumnRoles()
    """Columns of the prompt, messages, answer and slice."""
    prompt_template: str | None = Field(default=None, min_length=1, max_length=65_536)
    """User message with `{column}` placeholders, for datasets without a prompt column."""
    system_prompt: str | None = Field(default=None, max_length=65_536)
    """System message for prompts that do not start with one."""
    sampling: Literal["shuffle", "in_order", "frontier"] = "shuffle"
    """Order of rows. `shuffle`: a new seeded shuffle per epoch; `in_order`: as stored; `frontier`: each step
    prefers rows that pass about half of the time.
    """


# ── Rollout, adapter, optimizer, evaluation, limits ─────────────────────────────────────────────────────────


MOST_COMPLETIONS_PER_STEP = 262_144
"""Limit on the completions of a step, which are all held in memory."""


class RolloutSpec(SpecModel):
    engine: Literal["auto", "transformers", "vllm"] = "auto"
    """Sampler: the trainer itself (`transformers`), or a vLLM server beside it. `auto` becomes
    `vllm` at creation if every online worker has a GPU with vLLM, else `transformers`.
    """
    prompts_per_step: int = Field(default=16, ge=1, le=65_536)
    """Rows sampled in each step."""
    completions_per_prompt: int = Field(default=8, ge=1, le=1024)
    """Size of a group (G). At least 2, except for advantages that do not compare completions (`gae`,
    `reinforce_pp`).
    """
    max_prompt_tokens: int | None = Field(default=None, ge=1)
    """Maximum tokens of a prompt; longer prompts are refused when the job is created. Default: the model's
    context less `max_completion_tokens`.
    """
    max_completion_tokens: int = Field(default=256, ge=1, le=1_048_576)
    """Tokens at which a completion is cut off."""
    temperature: float = Field(default=1.0, gt=0, le=10)
    """Sampling temperature: 1 follows the policy, less is greedier."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Sample among the likeliest tokens with this total probability; 1 for all."""
    stop: list[str] = Field(default_factory=list, max_length=16)
    """Strings that end a completion."""
    ahead: int = Field(default=0, ge=0, le=1)
    """1: while a step is trained, the next step's completions are sampled and scored, by the policy from
    before the update. Saves time where sampler and trainer run on different processors.
    """


def check_rollout_with_nf4(rollout: RolloutSpec) -> None:
    if rollout.engine == "vllm":
        raise fault_at(
            "rollout.engine",
            "with base.precision `nf4` the trainer samples, because vLLM would sample from other weights than those "
            "that are trained: use engine `transformers` or `auto`",
        )


def check_nf4_targets(targets: str | list[str]) -> None:
    if "experts" in targets and not isinstance(targets, str):
        raise fault_at(
            "adapter.targets",
            "with base.precision `nf4` experts get no adapter, because bitsandbytes does not quantise them: leave out "
            "`experts`, or base.precision",
        )


def check_sharded(base: "BaseSpec", devices: int, rollout: RolloutSpec, targets: str | list[str]) -> None:
    if devices < 2:
        raise fault_at(
            "base.sharded",
            "base.sharded divides the base model among the job's devices, of which it has one: set devices_per_job "
            "to 2 or more, or leave base.sharded out",
        )
    if base.precision == "nf4":
        raise fault_at(
            "base.precision",
            "base.sharded does not divide quantised weights: leave base.precision out, or base.sharded",
        )
    if rollout.engine == "transformers":
        raise fault_at(
            "rollout.engine",
            "with base.sharded no process has the whole base model, so the trainer cannot sample: use engine `vllm`",
        )
    if rollout.top_p < 1:
        raise fault_at(
            "rollout.top_p",
            "with base.sharded vLLM samples, and it returns log-probabilities of the truncated distribution: leave "
            "rollout.top_p at 1",
        )
    if rollout.ahead:
        raise fault_at(
            "rollout.ahead",
            "with base.sharded completions are not sampled ahead, because the policy of the step before would need a "
            "base model of its own: leave rollout.ahead at 0",
        )
    if "experts" in targets and not isinstance(targets, str):
        raise fault_at(
            "adapter.targets",
            "with base.sharded experts get no adapter: leave out `experts`, or base.sharded",
        )


def check_rollout_with_turns(rollout: RolloutSpec, environment: str) -> None:
    if rollout.stop:
        raise fault_at(
            "rollout.stop",
            f"with environment `{environment}` a turn ends with the model's own end token, after which its chat "
            "template continues: leave rollout.stop empty",
        )
    if rollout.ahead:
        raise fault_at(
            "rollout.ahead",
            f"with environment `{environment}` completions are not sampled ahead, because a resume state cannot hold "
            "what happens outside of the trainer: leave rollout.ahead at 0",
        )


Precision = Literal["full", "nf4"]


class BaseSpec(SpecModel):
    """The frozen base model during training."""

    precision: Precision = "full"
    """`full`: float32 on the CPU, bfloat16 on a GPU. `nf4`: linear layers in 4 bits by bitsandbytes (QLoRA),
    which takes about a quarter of bfloat16's memory and more time. `nf4` excludes adapters on experts, and
    sampling with vLLM.
    """
    sharded: bool = False
    """`true`: its layers are divided among the devices of `devices_per_job` and gathered one at a time (FSDP2), for
    models that do not fit on one GPU. vLLM samples; excludes `nf4`, `rollout.ahead` and adapters on experts.
    """


class Lora(SpecModel):
    type: Literal["lora"] = "lora"
    start: str | None = Field(default=None, min_length=1, max_length=200)
    """Adapter (`adp_…`) or checkpoint (`ftckpt_…`) whose weights training starts from, or a PEFT folder
    when training offline. Rank, alpha and targets come from it, and it is the reference of a KL penalty.
    """
    rank: int = Field(default=16, ge=1, le=512)
    """Rank of the adapter matrices; a higher rank can learn more and takes more memory."""
    alpha: float | None = Field(default=None, gt=0)
    """The adapter's output is scaled by alpha / rank; default 2 × rank."""
    dropout: Literal[0] = 0
    """Fixed at 0: otherwise the trainer's and the sampler's log-probabilities would differ."""
    targets: Literal["all-linear"] | list[str] = "all-linear"
    """Layers with an adapter: all linear ones (in a mixture of experts only attention's), or names
    such as `q_proj`, and `experts` for all experts.
    """


def _auto_or_number(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Reports one error instead of one per member of the union."""
    try:
        return validate(value)
    except ValidationError as error:
        types = {detail["type"]: detail for detail in error.errors()}
        if outside := types.get("greater_than"):
            raise PydanticKnownError("greater_than", outside["ctx"]) from error
        if outside := types.get("less_than_equal"):
            raise PydanticKnownError("less_than_equal", outside["ctx"]) from error
        raise PydanticCustomError("number_or_auto", "Input should be 'auto' or a number") from error


class Optimizer(SpecModel):
    type: Literal["adamw"] = "adamw"
    learning_rate: Annotated[
        Literal["auto"] | Annotated[float, Field(gt=0, le=1)], WrapValidator(_auto_or_number)
    ] = AUTO
    """`auto` becomes a number at creation: 0.16 ÷ the base model's hidden size ÷ `algorithm.updates_per_step`
    (128 and 1 → 1.25e-3). Above a hidden size of 512 it stays between 2e-5 and 1e-4; these bounds were not
    measured.
    """
    initial_learning_rate: float | None = Field(default=None, gt=0, le=1)
    """Learning rate of the first step after the warm-up. It falls to `learning_rate`: half of the way
    in 4 steps, nine tenths in 14. Default for `auto`: three times that rate at hidden sizes 128 to
    256, else equal to it; for a number: that number.
    """
    betas: tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]] = (0.9, 0.999)
    """Decay of the running means of gradient and squared gradient."""
    eps: float = Field(default=1e-8, gt=0)
    """Constant added to the root of the squared gradient's mean."""
    weight_decay: float = Field(default=0.0, ge=0, le=1)
    """Pull of adapter weights towards 0, decoupled from the gradient."""
    clip_norm: float = Field(default=1.0, gt=0)
    """Maximum gradient norm; larger gradients are scaled down."""
    warmup_steps: int = Field(default=0, ge=0)
    """Steps over which the learning rate rises from 0."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """Course of the learning rate after the warm-up; `linear` and `cosine` fall to 0."""

    @property
    def rate(self) -> float:
        """Raises ValueError while it is `auto`."""
        if self.learning_rate == AUTO:
            raise ValueError(
                "optimizer.learning_rate is `auto`: resolve the specification with a hidden size"
            )
        return self.learning_rate


class EvaluationSpec(SpecModel):
    every_steps: int = Field(default=10, ge=0)
    """Steps between evaluations; 0: only before the first and after the last step."""
    rows: int = Field(default=64, ge=0, le=100_000)
    """Held-out rows used, evenly spread; 0 turns evaluation off."""
    samples_per_row: int = Field(default=4, ge=1, le=1024)
    """Completions per held-out row; more make the held-out reward less noisy."""
    temperature: float = Field(default=1.0, ge=0, le=10)
    """Sampling temperature; 0 is greedy."""
    pass_above: float = Field(default=0.5, ge=-1e6, le=1e6)
    """A completion passes above this reward: for pass@k, pass rates and frontier sampling."""
    answer: Literal["boxed", "tagged", "last_number", "last_line"] | None = None
    r"""How maj@k reads a completion's answer: the last \boxed{…}, the last <answer>…</answer>, the last
    number or the last line; by default maj@k is not measured.
    """


class EarlyStop(SpecModel):
    """Conditions under which a job ends early, with success; by default none."""

    patience: int | None = Field(default=None, ge=1, le=1000)
    """End after this many evaluations in a row without a better held-out reward; default never."""
    min_delta: float = Field(default=0.0, ge=0, le=1e6)
    """Minimum improvement over the best held-out reward."""
    no_signal_steps: int | None = Field(default=None, ge=1, le=100_000)
    """End when, over this many steps, at least the share `no_signal_share` of groups has equal rewards;
    default never.
    """
    no_signal_share: float = Field(default=1.0, gt=0, le=1)
    """Share of groups with equal rewards at which the job ends."""


class LimitsSpec(SpecModel):
    steps: int = Field(default=100, ge=1, le=1_000_000)
    """Number of steps; each samples, scores and updates."""
    max_seconds: float | None = Field(default=None, gt=0)
    """Maximum wall time of one attempt; the job then ends after the current step."""
    early_stop: EarlyStop = EarlyStop()
    """Conditions for ending before the last step."""
    checkpoint_every: int = Field(default=10, ge=1)
    """Steps between checkpoints and resume states."""
    error_share: Probability = 0.2
    """The job pauses if rewards fail on a larger share of rows over three steps."""
    judge_budget: float | None = Field(default=None, gt=0)
    """Cost of judges, at their prices, at which the job pauses; each resume allows the same amount again."""


FindingAction = Literal["stop", "pause", "lower_rate", "roll_back"]


class DiagnosisSpec(SpecModel):
    """Automatic actions when the diagnosis reports a problem; by default none."""

    on_finding: dict[FindingCode, FindingAction] = Field(default_factory=dict)
    """Code of a finding → `stop` (cancel the job), `pause`, `lower_rate` (to the automatic learning rate, or
    to a tenth), or `roll_back` (continue from the step saved before the finding, with the lower rate). Each
    action runs once for each finding that is not the consequence of another. `reinforge train` ignores it.
    """


class JobSpec(SpecModel):
    """One fine-tuning job."""

    name: str | None = Field(default=None, max_length=200)
    """Name in lists; default: model and dataset."""
    model: str = Field(min_length=1, max_length=200)
    """Base model id (`starter-arith`), or a folder when training offline. The id of an adapter (`adp_…`) or
    checkpoint (`ftckpt_…`) means its base model, with `adapter.start` set to it.
    """
    data: DataSpec
    """Rows to train on, and how they become prompts."""
    environment: EnvironmentSpec = SingleTurnSpec()
    """How completions arise: in one turn, in several turns with tools, or through your own program."""
    rewards: list[Reward] = Field(min_length=1, max_length=16)
    """Scores of a completion; the reward is their weighted sum."""
    judges: dict[Name, Judge] = Field(default_factory=dict, max_length=16)
    """Name → judge, for `reinforge train`; on a server graders name the project's judges."""
    algorithm: Algorithm = Algorithm()
    """How rewards become a loss."""
    rollout: RolloutSpec = RolloutSpec()
    """How completions are sampled."""
    base: BaseSpec = BaseSpec()
    """Precision of the frozen base model, and whether it is divided among devices."""
    devices_per_job: int = Field(default=1, ge=1, le=64)
    """GPUs that train the job together, each with a copy or a part of the base model. On a worker without a GPU:
    processes that share its cores. If the worker has fewer, the job pauses with `too_few_devices`.
    """
    adapter: Lora = Lora()
    """Trained weights on top of the frozen base model."""
    optimizer: Optimizer = Optimizer()
    """How gradients become updates."""
    evaluation: EvaluationSpec = EvaluationSpec()
    """Sampling and scoring of held-out rows."""
    limits: LimitsSpec = LimitsSpec()
    """When the job ends and what it saves."""
    diagnosis: DiagnosisSpec = DiagnosisSpec()
    """Automatic actions of the diagnosis."""
    seed: int = Field(default=0, ge=0, le=2**31 - 1)
    """Seed of held-out split, row order and sampling."""
    metadata: dict[str, str] = Field(default_factory=dict, max_length=16)
    """Strings of your own, stored with the job."""
    export: list[Name] = Field(default_factory=list, max_length=20)
    """Names of the project's experiment trackers that get the job, besides those that get every job.
    `reinforge train` ignores the list.
    """

    @model_validator(mode="before")
    @classmethod
    def fill_preset(cls, value: Any) -> Any:
        """Expands `algorithm: {preset: dr_grpo}`; other fields of `algorithm` that are set stay."""
        return apply_preset(value)

    @model_validator(mode="after")
    def parts_agree(self) -> Self:
        names = tuple(reward.name for reward in self.rewards)
        if len(set(names)) != len(names):
            raise fault_at("rewards", f"two rewards share a name: {', '.join(sorted(names))}")
        job = JobFacts(
            environment=self.environment.type,
            rewards=names,
            completions_per_prompt=self.rollout.completions_per_prompt,
            max_completion_tokens=self.rollout.max_completion_tokens,
        )
        check_rules(self.algorithm, job)
        if isinstance(self.environment, ToolsSpec | AgentSpec):
            check_rollout_with_turns(self.rollout, self.environment.type)
        if self.base.precision == "nf4":
            check_rollout_with_nf4(self.rollout)
            check_nf4_targets(self.adapter.targets)
        if self.base.sharded:
            check_sharded(self.base, self.devices_per_job, self.rollout, self.adapter.targets)
        per_step = self.rollout.prompts_per_step * self.rollout.completions_per_prompt
        if per_step > MOST_COMPLETIONS_PER_STEP:
            raise fault_at(
                "rollout.prompts_per_step",
                f"{self.rollout.prompts_per_step:,} prompts with {self.rollout.completions_per_prompt:,} completions "
                f"each are {per_step:,} completions in one step; at most {MOST_COMPLETIONS_PER_STEP:,} are allowed. "
                "Lower rollout.prompts_per_step or rollout.completions_per_prompt.",
            )
        if self.rollout.engine == "vllm" and self.rollout.top_p < 1:
            raise fault_at(
                "rollout.top_p",
                "vLLM returns log-probabilities of the truncated distribution, which the loss cannot correct for: "
                "leave rollout.top_p at 1, or use engine `transformers`",
            )
        if self.limits.early_stop.patience is not None and 0 in (
            self.evaluation.rows,
            self.evaluation.every_steps,
        ):
            raise fault_at(
                "limits.early_stop.patience",
                "patience counts evaluations: set evaluation.rows and evaluation.every_steps above 0",
            )
        if self.algorithm.updates_per_step > self.rollout.prompts_per_step:
            raise fault_at(
                "algorithm.updates_per_step",
                "algorithm.updates_per_step is larger than rollout.prompts_per_step: "
                "every update needs at least one whole group",
            )
        return self

    def resolved(self, *, engine: str = "transformers", hidden_size: int | None = None) -> "JobSpec":
        """The specification with values in place of "auto" and of defaults that depend on other fields.

        engine: what `rollout.engine: auto` becomes; transformers where vLLM cannot sample as specified.
        hidden_size: the base model's; without it `optimizer.learning_rate: auto` stays.
        """
        spec = self.model_dump()
        if self.optimizer.learning_rate == AUTO and hidden_size is not None:
            updates = self.algorithm.updates_per_step
            spec["optimizer"]["learning_rate"] = auto_learning_rate(hidden_size, updates)
            if self.optimizer.initial_learning_rate is None:
                spec["optimizer"]["initial_learning_rate"] = auto_initial_learning_rate(hidden_size, updates)
        if self.rollout.engine == "auto":
            by_trainer = self.rollout.top_p < 1 or self.base.precision == "nf4"
            own = "transformers" if by_trainer else engine
            spec["rollout"]["engine"] = "vllm" if self.base.sharded else own
        if self.adapter.alpha is None:
            spec["adapter"]["alpha"] = 2.0 * self.adapter.rank
        fill_lengths(spec["algorithm"], self.rollout.max_completion_tokens)
        loss = self.algorithm.loss
        other_sampler = spec["rollout"]["engine"] == "vllm" or self.rollout.ahead > 0
        if other_sampler and "mismatch" not in loss.model_fields_set:
            fill_mismatch(spec["algorithm"], loss)
        fill_packages(spec["algorithm"])
        if spec["optimizer"]["learning_rate"] != AUTO:
            fill_critic(spec["algorithm"], spec["optimizer"]["learning_rate"])
        return JobSpec.model_validate(spec)
