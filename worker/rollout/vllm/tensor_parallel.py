"""Check that several GPUs can share a vLLM server's model."""

from typing import Any

from reinforge.errors import JobFailure


def check_tensor_parallel(config: Any, gpus: int, variable: str) -> None:
    """Raise JobFailure `impossible_placement` if the GPUs cannot share the model. config: a transformers
    configuration.
    """
    if gpus == 1:
        return
    text = config.get_text_config()
    heads = int(text.num_attention_heads)
    key_heads = int(getattr(text, "num_key_value_heads", None) or heads)
    # Fewer key heads than GPUs are repeated.
    if heads % gpus or (key_heads % gpus and gpus % key_heads):
        fitting = [n for n in range(1, gpus) if heads % n == 0 and (key_heads % n == 0 or n % key_heads == 0)]
        raise JobFailure(
            f"{variable} gives vLLM {gpus} GPUs, which cannot divide this model's {heads} attention heads and "
            f"{key_heads} key heads evenly.",
            code="impossible_placement",
            hint=f"Give vLLM {' or '.join(map(str, fitting))} GPUs with {variable} on the worker, then resume the job.",
            retryable=True,
        )
