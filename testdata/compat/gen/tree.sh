#!/bin/bash
# Makes testdata/compat/1-tree, or the folder $1, which must not be there: a whole tree in a volume, and what the program writes
# beside archives. Needs root, for a file system at /srv that is gone afterwards. Run from the root of the module.
set -euo pipefail
out=$(realpath -m "${1:-testdata/compat/1-tree}")
[ ! -e "$out" ] || { echo "tree.sh: $out is there" >&2; exit 1; }
if [ "${2:-}" != inside ]; then
  exec unshare -m "$0" "$out" inside
fi
classic=$PWD/testdata/classic
mount -t tmpfs tmpfs /srv
go build -o /srv/cdfz ./cmd/cdfz
cd /srv
export PATH=/srv:$PATH TZ=UTC
umask 022
mkdir -p data/1987 data/empty out
cp "$classic/cdf1_climate_small.nc" data/1987/climate.nc
cp "$classic/cdf2_bits.nc" data/bits.nc
for month in 1 2; do
  cat >m.cdl <<END
netcdf m { dimensions: time = UNLIMITED ; x = 3 ; variables: double time(time) ; time:units = "days since 1987-0$month-01" ; float t(time, x) ;
data: time = 0, 14 ; t = $month.5, 2, 3, 4, 5, 6 ; }
END
  cdfz gen -q -o data/1987/t_0$month.nc m.cdl
done
printf 'notes\n' >data/notes.txt
chmod 640 data/notes.txt
ln -s notes.txt data/link
find data ! -type l -exec touch -d '1987-06-05 04:03:02.123456789Z' {} +
cdfz archive -q --whole --receipts out/receipts.jsonl --log out/log.jsonl -o archives/ data/
cdfz join -q -o archives/t.ncml archives/1987/t_0*.nc.cdfz
cdfz verify -q --state out/state.jsonl archives/
cdfz catalogue -q -o out/catalogue.parquet --receipts out/receipts.jsonl archives/
cdfz pack -q -o out/volumes/ archives/
(cd data && find . -type f | LC_ALL=C sort | xargs sha256sum) >out/SHA256SUMS
chmod -R u=rwX,go=rX out
cp -r out "$out"
