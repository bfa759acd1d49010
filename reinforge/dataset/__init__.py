"""Datasets: JSONL, CSV and Parquet, read row by row up to the first fault (docs/datasets.md).

Codes of `DatasetError`:

    file       empty_file file_too_large too_many_rows unknown_format wrong_format wrong_encoding nul_byte
    JSONL      truncated_json invalid_json row_not_an_object duplicate_key not_finite integer_too_large
               lone_surrogate nesting_too_deep
    CSV        invalid_csv ragged_row
    Parquet    corrupt_parquet unsupported_type
    columns    duplicate_column unnamed_column too_many_columns row_too_large
    prompts    missing_prompt empty_prompt wrong_type unknown_role unsupported_content last_message
               invalid_tools
    use        unknown_column invalid_template missing_value invalid_held_out
"""

from reinforge.dataset.columns import ColumnRoles
from reinforge.dataset.equal import normalised, prompt_key
from reinforge.dataset.errors import DatasetError, DatasetTooLarge
from reinforge.dataset.formats.reading import Format, detect_format, iter_accepted, iter_rows
from reinforge.dataset.inspection import PromptRow, inspect, inspect_skipping, iter_prompts, numbers_of
from reinforge.dataset.items import item_columns, item_of, shadowed_answer
from reinforge.dataset.limits import DatasetLimits
from reinforge.dataset.numbers import number_columns, with_numbers
from reinforge.dataset.prompts import Message, PromptTemplate, check_roles, render_messages
from reinforge.dataset.report import ColumnReport, DatasetReport, DatasetWarning
from reinforge.dataset.rows import Row, row_hash
from reinforge.dataset.split import held_out_count, split, split_together
from reinforge.dataset.suggestion import suggest_columns
from reinforge.dataset.tools import NO_PLACE_FOR_TOOLS, Tool, prompt_characters, row_tools, tools_of

__all__ = [
    "NO_PLACE_FOR_TOOLS",
    "ColumnReport",
    "ColumnRoles",
    "DatasetError",
    "DatasetLimits",
    "DatasetReport",
    "DatasetTooLarge",
    "DatasetWarning",
    "Format",
    "Message",
    "PromptRow",
    "PromptTemplate",
    "Row",
    "Tool",
    "check_roles",
    "detect_format",
    "held_out_count",
    "inspect",
    "inspect_skipping",
    "item_columns",
    "item_of",
    "iter_accepted",
    "iter_prompts",
    "iter_rows",
    "normalised",
    "number_columns",
    "numbers_of",
    "prompt_characters",
    "prompt_key",
    "render_messages",
    "row_hash",
    "row_tools",
    "shadowed_answer",
    "split",
    "split_together",
    "suggest_columns",
    "tools_of",
    "with_numbers",
]
