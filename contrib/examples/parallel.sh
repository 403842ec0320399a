#!/bin/bash
# Archives and verifies a tree with GNU parallel: parallel.sh DATA ARCHIVES [SHARDS [JOBS]]. Receipts are in receipts/, logs in jobs/.
# Run it again after an error: what is archived already is passed over. docs/clusters.md explains the options.
set -euo pipefail
data=$1 archives=${2%/}/ shards=${3:-40} jobs=${4:-2}
mkdir -p jobs receipts
seq "$shards" | parallel -j "$jobs" --joblog jobs/archive.log \
  cdfz archive --shard "{}/$shards" -j 1 -q --receipts receipts/{}.jsonl --receipts-also receipts \
  --log jobs/{}.archive.jsonl -o "$archives" "$data"
seq "$shards" | parallel -j "$jobs" --joblog jobs/verify.log \
  cdfz verify --shard "{}/$shards" -j 1 -q --against "$data" --log jobs/{}.verify.jsonl "$archives"
cdfz receipts --quick -q receipts/*.jsonl
