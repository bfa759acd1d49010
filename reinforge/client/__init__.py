"""The SDK: `Reinforge(base_url, api_key)` and typed resources.

    from reinforge import Reinforge

    client = Reinforge()                       # REINFORGE_URL and REINFORGE_API_KEY, or arguments
    data = client.datasets.push("additions.jsonl")
    reward = client.rewards.push("reward.py")
    job = client.jobs.create({"model": "starter-arith", "data": {"dataset": data.id},
                              "rewards": [{"type": "python", "reward": reward.id}]})
    job = client.jobs.wait(job.id)
    client.jobs.download_adapter(job.id, "adapter.tar.gz")  # its best checkpoint

`AsyncReinforge` has the same methods for asyncio.
"""

from reinforge.client.aio import AsyncReinforge
from reinforge.client.sync import Reinforge

__all__ = ["AsyncReinforge", "Reinforge"]
