"""Database schema, one file per aggregate. Importing this package registers every table."""

from backend.models.agent import AgentRollout, QueuedModelCall
from backend.models.alias import AdapterAlias, AdapterAliasChange
from backend.models.audit import AuditEntry
from backend.models.base import Base, now
from backend.models.base_model import BaseModel
from backend.models.checkpoint import Adapter, Checkpoint, CheckpointPermission, ResumeState
from backend.models.completion import Completion, JobPrompt, PromptDraw, StepRollouts
from backend.models.dataset import Dataset
from backend.models.deployment import Deployment
from backend.models.diagnosis import FindingRow, LogLineRow
from backend.models.evaluation import EvaluationCompletion, EvaluationPromptRow, EvaluationRow, Label
from backend.models.golden import GoldenCaseRow
from backend.models.job import Attempt, Event, Job, JobCommand, JobReward
from backend.models.job_change import JobChange
from backend.models.job_share import JobShare
from backend.models.judge import JudgeRow
from backend.models.mail import Mail
from backend.models.metric import MetricPoint, MetricSeries
from backend.models.project import ApiKey, IdempotencyKey, Invitation, Member, Project
from backend.models.reward import Reward, RewardRevision
from backend.models.stored_object import JobObject, StoredObject
from backend.models.sweep import SweepRow, SweepTrialRow
from backend.models.tracker import ExportRow, TrackerRow
from backend.models.upload import Upload, UploadPart
from backend.models.usage import BudgetRow, UsageRow
from backend.models.user import BrowserSession, SignInFailure, SignInToken, User
from backend.models.webhook import Webhook, WebhookDelivery, WebhookTry
from backend.models.worker import Call, CallChunk, Worker

__all__ = [
    "Adapter",
    "AdapterAlias",
    "AdapterAliasChange",
    "AgentRollout",
    "ApiKey",
    "Attempt",
    "AuditEntry",
    "Base",
    "BaseModel",
    "BrowserSession",
    "BudgetRow",
    "Call",
    "CallChunk",
    "Checkpoint",
    "CheckpointPermission",
    "Completion",
    "Dataset",
    "Deployment",
    "EvaluationCompletion",
    "EvaluationPromptRow",
    "EvaluationRow",
    "Event",
    "ExportRow",
    "FindingRow",
    "GoldenCaseRow",
    "IdempotencyKey",
    "Invitation",
    "Job",
    "JobChange",
    "JobCommand",
    "JobObject",
    "JobPrompt",
    "JobReward",
    "JobShare",
    "JudgeRow",
    "Label",
    "LogLineRow",
    "Mail",
    "Member",
    "MetricPoint",
    "MetricSeries",
    "Project",
    "PromptDraw",
    "QueuedModelCall",
    "ResumeState",
    "Reward",
    "RewardRevision",
    "SignInFailure",
    "SignInToken",
    "StepRollouts",
    "StoredObject",
    "SweepRow",
    "SweepTrialRow",
    "TrackerRow",
    "Upload",
    "UploadPart",
    "UsageRow",
    "User",
    "Webhook",
    "WebhookDelivery",
    "WebhookTry",
    "Worker",
    "now",
]
