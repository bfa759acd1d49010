"""Parquet, read in small batches. Times and decimals become strings; bytes, maps and unions are refused."""

import json
import math
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from reinforge.dataset.errors import DatasetError, DatasetTooLarge
from reinforge.dataset.errors import Path as ValuePath
from reinforge.dataset.faults import OnFault, raise_fault
from reinforge.dataset.formats.strict_json import INT64
from reinforge.dataset.limits import DatasetLimits, readable, row_too_large, too_many_columns, too_many_rows
from reinforge.dataset.rows import SourceRow

BATCH_ROWS = 64
"""Rows of a batch: dictionary encoding can make a row far larger in memory than in the file."""

GROUP_BYTES = 32 * 1024 * 1024


def read(path: Path, limits: DatasetLimits, on_fault: OnFault = raise_fault) -> Iterator[SourceRow]:
    # Here and not at the top: most commands of the CLI never meet Parquet, and pyarrow takes long to load.
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path, buffer_size=1024 * 1024, pre_buffer=False) as file:
            if file.metadata.num_rows > limits.max_rows:
                raise too_many_rows(limits)  # at once: a file of 1 KiB can hold as many as one likes
            target = _checked_schema(file.schema_arrow, limits)
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                if sum(map(_least_bytes, batch.columns)) > limits.max_row_bytes * batch.num_rows:
                    raise row_too_large(number + 1, None, limits)  # before it is objects of Python
                for value in pa.Table.from_batches([batch]).cast(target).to_pylist():
                    number += 1
                    try:
                        _check(value, (), number)
                    except DatasetError as error:
                        on_fault(error, number, 1, 0)
                        continue
                    yield SourceRow(number, value, None)
    except UnicodeDecodeError as error:
        message = f"A string after row {number} is not valid UTF-8 ({error.reason})."
        raise DatasetError(
            message, code="wrong_encoding", line=number + 1, hint="Write UTF-8 strings."
        ) from None
    except MemoryError:
        raise  # Arrow's own is an ArrowException too, and says nothing about the file
    except (pa.ArrowException, OSError) as error:
        raise _corrupt(number, str(error)) from None


def write_without_rows(path: Path, to: Path, bad_rows: Collection[int], limits: DatasetLimits) -> None:
    """Copy the rows of an inspected file except `bad_rows` (1-based)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number, group, group_bytes = 0, list[pa.RecordBatch](), 0
    try:
        with (
            pq.ParquetFile(path, buffer_size=1024 * 1024, pre_buffer=False) as file,
            pq.ParquetWriter(to, file.schema_arrow, compression="zstd") as writer,
        ):
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                is_good = [number + row not in bad_rows for row in range(1, batch.num_rows + 1)]
                number += batch.num_rows
                rows = batch.filter(pa.array(is_good))
                group.append(rows)
                group_bytes += rows.nbytes
                if group_bytes >= GROUP_BYTES:
                    _write_group(writer, group, to, limits)
                    group_bytes = 0
            _write_group(writer, group, to, limits)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise DatasetError(
            f"The file cannot be written without its bad rows: {str(error).strip().splitlines()[0][:200]}",
            code="rows_not_removable",
            hint="Remove the bad rows yourself and upload the file again.",
        ) from None


def _write_group(writer: Any, group: list[Any], to: Path, limits: DatasetLimits) -> None:
    import pyarrow as pa

    if group:
        writer.write_table(pa.Table.from_batches(group))
        group.clear()
    if to.stat().st_size > limits.max_bytes:
        raise DatasetTooLarge(
            f"Even without its invalid rows the file is larger than {readable(limits.max_bytes)}, the limit.",
            code="file_too_large",
            hint="Remove the bad rows yourself, or split the file.",
        )


def place(row: SourceRow, path: ValuePath) -> tuple[int, int | None]:
    return row.line, None


def _corrupt(rows_read: int, reason: str) -> DatasetError:
    where = f"after row {rows_read}" if rows_read else "at all"
    return DatasetError(
        f"The Parquet file cannot be read {where}: {reason.strip().splitlines()[0][:200]}",
        code="corrupt_parquet",
        line=rows_read + 1 if rows_read else None,
        hint="It is damaged or incomplete. Write or upload it again.",
    )


def _checked_schema(schema: Any, limits: DatasetLimits) -> Any:
    import pyarrow as pa

    if len(schema) > limits.max_columns:
        raise too_many_columns(len(schema), limits)
    fields = []
    for index, field in enumerate(schema):
        if field.name in schema.names[:index]:
            message = f'The column "{field.name}" appears twice.'
            raise DatasetError(message, code="duplicate_column", hint="Rename or remove one of them.")
        if _is_deeper(field.type, limits.max_depth - 1):
            message = f'The column "{field.name}" is nested more than {limits.max_depth} levels deep.'
            raise DatasetError(message, code="nesting_too_deep", hint="Flatten it or store it as JSON text.")
        kind = field.type
        is_time = pa.types.is_temporal(kind) and not pa.types.is_duration(kind)
        if is_time or pa.types.is_decimal(kind):
            kind = pa.string()
        elif pa.types.is_float16(kind):
            kind = pa.float32()
        elif (refused := _unsupported(kind)) is not None:
            message = f'The column "{field.name}" holds {refused}, which rewards and prompts cannot read.'
            hint = "Cast it to text, numbers, booleans, lists or structs of these, or drop the column."
            raise DatasetError(message, code="unsupported_type", hint=hint)
        fields.append(field.with_type(kind))
    return pa.schema(fields)


def _least_bytes(values: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _least_bytes(values.flatten())
    if pa.types.is_struct(kind):
        return sum(_least_bytes(values.field(index)) for index in range(kind.num_fields))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return int(pc.sum(pc.binary_length(values)).as_py() or 0) + len(values)
    return len(values)


def _children(kind: Any) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return [kind.value_type]
    return [kind.field(index).type for index in range(kind.num_fields)]


def _is_deeper(kind: Any, levels: int) -> bool:
    children = _children(kind)
    return bool(children) and (levels == 0 or any(_is_deeper(child, levels - 1) for child in children))


def _unsupported(kind: Any) -> str | None:
    import pyarrow as pa

    types = pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if is_list or types.is_struct(kind) or types.is_dictionary(kind):
        return next((unsupported for child in _children(kind) if (unsupported := _unsupported(child))), None)
    is_text = types.is_string(kind) or types.is_large_string(kind)
    is_number = types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind)
    if is_text or is_number or types.is_boolean(kind) or types.is_null(kind):
        return None
    return str(kind)


def _check(value: Any, path: ValuePath, row: int) -> None:
    """Check that JSON can carry a value unchanged. Raises DatasetError."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _check(inner, (*path, key), row)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _check(inner, (*path, index), row)
    elif isinstance(value, float) and not math.isfinite(value):
        raise _refused(path, row, "not_finite", value, f"holds {value}", "Write null instead.")
    elif isinstance(value, str) and "\0" in value:
        raise _refused(
            path,
            row,
            "nul_byte",
            value,
            "has a NUL character",
            "Remove it; databases cannot store it in text.",
        )
    elif isinstance(value, int) and value not in INT64:
        hint = "Cast the column to text."
        what = "holds an integer beyond 64 bits (signed)"
        raise _refused(path, row, "integer_too_large", value, what, hint)


def _refused(path: ValuePath, row: int, code: str, value: Any, what: str, hint: str) -> DatasetError:
    message, text = f'The column "{path[0]}" {what}.', json.dumps({str(path[0]): value}, ensure_ascii=False)
    return DatasetError(message, code=code, line=row, hint=hint, text=text, path=path)
