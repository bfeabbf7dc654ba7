# SPDX-License-Identifier: Apache-2.0
"""Judges a sample of `cubinet bench attention` against the best peer of each problem."""
import math
import sys

# The most that is allowed: (what, member of the summary, limit).
GOALS = (("geometric mean of the time as a part of the best peer's", "mean_ratio", 0.97),
         ("share of problems that are more than 3 % behind", "behind_3_percent", 0.05),
         ("share of problems that are more than 10 % behind", "behind_10_percent", 0.0))


def best_peer(row):
    """Returns the time as a part of the fastest peer's, and that peer's name; None without a peer."""
    return max(((peer["ratio"], peer["name"]) for peer in row.get("peers", []) if "ratio" in peer), default=None)


def mean_of(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def sample_summary(count, seed, rows):
    compared = [best for best in map(best_peer, rows) if best]
    summary = {"drawn": count, "seed": seed, "measured": len(rows), "compared": len(compared), "peers": {}, "goals": []}
    if not compared:
        return summary
    ratios = [ratio for ratio, _ in compared]
    summary["mean_ratio"] = round(mean_of(ratios), 4)
    for percent in (3, 10):
        behind = sum(ratio > 1 + percent / 100 for ratio in ratios)
        summary[f"behind_{percent}_percent"] = round(behind / len(ratios), 4)
    names = sorted({peer["name"] for row in rows for peer in row.get("peers", [])})
    for name in names:
        own = [peer["ratio"] for row in rows for peer in row.get("peers", []) if peer["name"] == name and "ratio" in peer]
        if own:
            summary["peers"][name] = {"problems": len(own), "mean_ratio": round(mean_of(own), 4),
                                      "best": sum(best == name for _, best in compared)}
    summary["goals"] = [{"goal": f"{what}: {limit}", "reached": summary[member], "met": summary[member] <= limit}
                        for what, member, limit in GOALS]
    return summary


def case_of(row):
    lengths = "" if row["mean_kv_length"] == row["kv_len"] else f", {row['mean_kv_length']:.0f} on average"
    unknown = ", lengths unknown" if row["lengths_unknown"] else ""
    return (f"{row['operation']}, batch {row['batch']}, KV {row['kv_len']}{lengths}{unknown}, q {row['q_len']},"
            f" {row['heads_q']}/{row['heads_kv']} x {row['head_dim_qk']}, page {row['page_size']},"
            f" {row['dtype_q']}:{row['dtype_kv']}")


def print_sample(summary, rows):
    """Prints the summary, each missed goal, and each problem that is behind."""
    print(f"seed {summary['seed']}: {summary['compared']} of {summary['measured']} problems have a peer", file=sys.stderr)
    for name, peer in summary["peers"].items():
        print(f"{name}: {peer['problems']} problems, the fastest peer of {peer['best']}, geometric mean"
              f" {peer['mean_ratio']:.3f}", file=sys.stderr)
    behind = sorted(((*best, row) for row in rows if (best := best_peer(row)) and best[0] > 1.03), key=lambda each: -each[0])
    for ratio, name, row in behind:
        word = "missed" if ratio > 1.1 else "behind"
        print(f"{word}: {row['case_tag']}: {ratio:.3f} of {name}'s time: {case_of(row)}", file=sys.stderr)
    for row in rows:
        if "seconds" not in row or not row["correct"]:
            print(f"missed: {row['case_tag']}: {row.get('error', {}).get('message', 'a wrong result')}: {case_of(row)}",
                  file=sys.stderr)
    for goal in summary["goals"]:
        if not goal["met"]:
            print(f"missed: {goal['goal']}, reached {goal['reached']:.4g}", file=sys.stderr)
    print(f"{sum(goal['met'] for goal in summary['goals'])} of {len(summary['goals'])} goals are reached", file=sys.stderr)
