"""``python -m lowtide.ray CORPUS -o RESULTS``: schedule a corpus on a cluster."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

import ray

from .driver import Options, run


def main(arguments: "list[str] | None" = None) -> int:
    """Run the command, and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m lowtide.ray", description="Schedule a corpus on a cluster of Ray. A run that ended in the middle continues.")
    parser.add_argument("corpus", nargs="+", help="region files (.jsonl, .jsonl.gz, .parquet), or folders of them")
    parser.add_argument("-o", "--output", required=True, help="folder of the results, one Parquet file for each bundle; all machines must reach it")
    parser.add_argument("--address", default="auto", help="address of the cluster; auto finds a running one, local starts one here (default: auto)")
    parser.add_argument("--workers", type=int, help="number of processes (default: one for each core of the cluster)")
    parser.add_argument("--gpus", type=int, help="number of GPUs of the cluster to use, one process for each; needs --algorithm colony (default: none)")
    parser.add_argument("--target", help="target of all kernels (default: the one that each was made for)")
    parser.add_argument("--goal", default="occupancy", help="occupancy, minreg, length or throughput (default: occupancy)")
    parser.add_argument("--budget", help="time for each instruction and pass, such as 1ms (default: 1ms, or no limit with --nodes)")
    parser.add_argument("--nodes", type=int, help="search steps for each region and pass: the result is then the same on every machine")
    parser.add_argument("--algorithm", default="auto", help="algorithm (default: auto)")
    parser.add_argument("--latencies", default="target", help="latencies: target, target*FACTOR or recorded (default: target)")
    parser.add_argument("--store", help="keep the answers of searches: a folder or an address that all machines reach (docs/store.md)")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    chosen = parser.parse_args(arguments)
    options = Options(chosen.target, chosen.goal, chosen.budget, chosen.algorithm, chosen.nodes, chosen.latencies)
    try:
        ray.init(address=chosen.address, log_to_driver=False, logging_level="warning")
        _, summary = run(chosen.corpus, chosen.output, options, store=chosen.store, workers=chosen.workers, gpus=chosen.gpus, progress=True)
    except (ConnectionError, OSError, ValueError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(dataclasses.asdict(summary)) if chosen.json else summary.in_words())
    return 0


if __name__ == "__main__":
    sys.exit(main())
