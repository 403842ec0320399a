//go:build judge && linux

package main

// A docPage is a page whose commands TestJudgePages runs.
type docPage struct {
	name   string   // below the checkout
	before string   // makes what a reader of the page has, and no command of it makes; in ../other for alternatives
	paths  []string // absolute paths of the page, which are beside its folder in the test
}

var docPages = []docPage{
	{name: "README.md"},
	{name: "docs/first-hour.md"},
	{name: "docs/install.md", before: "ln -s $ROOT/c ."},
	{name: "docs/reading.md", paths: []string{"/tmp/"}, before: tas + "ln -s $ROOT/testdata ."},
	{name: "docs/archiving.md", paths: []string{"/disk2/"}, before: tas + `
mkdir -p data ../disk2/archives && cp tas.nc $INPUTS/sst.nc data/
for at in ../disk2/archives/ s3://bucket/archives/; do cdfz archive -q -o $at data/; done
cp tas.nc.cdfz old.nc.cdfz`},
	{name: "docs/trees.md", paths: []string{"/disk1/", "/disk2/"}, before: `
mkdir -p data/{2020,2021} ../disk1 ../disk2 jobs
ls -rS $ROOT/testdata/classic/*.nc | head -142 | while read -r name; do
  cp "$name" data/$((2020 + n++ % 2))/
done
touch -d 2000-01-01 last-run
for i in 1 2 3; do cdfz archive -q --shard $i/3 --receipts r$i.jsonl -o archives/ data/; done
ls -d archives/*/* | head -5 | cut -d/ -f2- >today.txt
cp -a archives ../disk2/
mkdir ../other && cp -a data ../other/`},
	{name: "docs/volumes.md", before: `
mkdir -p data/198{7,8} && cp $ROOT/testdata/classic/cdf1_bits.nc data/1987/tas.nc
ls -rS $ROOT/testdata/classic/*.nc | tail -139 | while read -r name; do
  cp "$name" data/$((1987 + n++ % 2))/
done
cdfz archive -q -o archives/ data/`},
	{name: "docs/archivist.md", before: `
maketree -n 400 made >/dev/null
mkdir -p data/198{6,7} data/empty
find made -name '*.nc' | sort | while read -r name; do
  cp -p "$name" data/$((1986 + n++ % 2))/
done
rm -r made
/usr/bin/python3 - <<'END'
import netCDF4, numpy
with netCDF4.Dataset("data/1987/ts.nc4", "w") as f:
    f.createDimension("x", 660000)
    f.createVariable("ts", "f4", "x")[:] = numpy.random.default_rng(1).random(660000)
END
echo a,b >data/1987/table.csv && ln data/1987/table.csv data/ && ln -s 1987 data/latest`},
	{name: "docs/export.md", before: tas},
	{name: "docs/serve.md", before: "mkdir archives && cdfz archive -q -o archives/tas.nc.cdfz $INPUTS/small.nc && echo text >archives/notes.txt"},
	{name: "docs/joined.md", before: years + "cdfz archive -q --zarr always tas_18*.nc && cp -a . ../other && rm *.nc"},
	{name: "docs/catalogue.md", before: `
mkdir archives
while read -r name file; do
  cdfz archive -q --preset fast -o archives/$name.nc.cdfz /usr/share/ferret-vis/data/$file
done <<END
atlas ocean_atlas_subset.nc
levitus levitus_climatology.cdf
sst coads_climatology.cdf
etopo60 etopo60.cdf
winds monthly_navy_winds.cdf
END
mkdir archives/2026 && cp archives/etopo60.nc.cdfz archives/2026/ && cp archives/etopo60.nc.cdfz a.nc.cdfz
cdfz archive -q --preset fast -o s3://bucket/run7/ $INPUTS/sst.nc
cdfz archive -q --receipts proof.jsonl -o archives/ $INPUTS/sst.nc
cdfz verify -q --state scrub.jsonl archives/
mv archives/2026 .`},
	{name: "docs/objects.md", before: tas + `
mkdir -p data/1990 && cp tas.nc data/1990/ && cp $INPUTS/sst.nc data/
ln -s $ROOT/testdata .
cdfz archive -q -o archives/ data/
mkdir jobs && cdfz archive -q --receipts jobs/1.jsonl -o s3://bucket/run7/ data/
cdfz restore -q -o s3://bucket/originals/ archives/`},
	{name: "docs/netcdf.md", before: "ln -s $ROOT/c . && cp $INPUTS/sst.nc . && cdfz archive -q sst.nc"},
	{name: "docs/hdf5.md", before: surface + "ln -s $ROOT/{c,testdata} ."},
	{name: "docs/python.md", before: tas + "mkdir data && cp $ROOT/testdata/classic/cdf2_climate.nc data/"},
	{name: "docs/c.md", before: "ln -s $ROOT/{c,testdata} ."},
	{name: "docs/run.md", paths: []string{"/data"}, before: `
cdfz archive -q -o sst.nc.cdfz $INPUTS/sst.nc
mkdir -p ../other ../data && cd ../other
for name in y1850 y1851 ../data/tas; do cdfz archive -q -o $name.nc.cdfz $INPUTS/sst.nc; done
echo 'ncdump -h y1850.nc >header.txt' >job.sh`},
	{name: "docs/mount.md", before: "mkdir archives && cdfz archive -q -o archives/tas.nc.cdfz $INPUTS/small.nc"},
}

// tas makes tas.nc and its archive.
const tas = "cp $INPUTS/small.nc tas.nc && cdfz archive -q --preset fast tas.nc\n"

// surface makes TS.nc.
const surface = `/usr/bin/python3 - <<'END'
import netCDF4, numpy
with netCDF4.Dataset("TS.nc", "w", format="NETCDF3_CLASSIC") as f:
    for name, n in ("time", None), ("lat", 64), ("lon", 128):
        f.createDimension(name, n)
    for name, kind, dim, n in ("date", "i4", "time", 100), ("gw", "f4", "lat", 64), ("lat", "f4", "lat", 64), ("lon", "f4", "lon", 128), ("time", "f8", "time", 100):
        f.createVariable(name, kind, dim)[:] = range(n)
    t, y, x = numpy.ogrid[:100, :64, :128]
    f.createVariable("TS", "f4", ("time", "lat", "lon"))[:] = 280 + 20 * numpy.sin(y / 20) + 0 * t * x + numpy.random.default_rng(1).random((100, 64, 128))
END
`

// years makes tas_1850.nc, tas_1851.nc and tas_1852.nc.
const years = `/usr/bin/python3 - <<'END'
import netCDF4
for year in range(1850, 1853):
    with netCDF4.Dataset(f"tas_{year}.nc", "w", format="NETCDF3_CLASSIC") as f:
        f.createDimension("time")
        time = f.createVariable("time", "f8", "time")
        for name, values in ("lat", [1, 2, 3]), ("lon", [5, 6]):
            f.createDimension(name, len(values))
            f.createVariable(name, "f4", name)[:] = values
        time.units, time.calendar = "days since 1850-01-01", "noleap"
        time[:] = range(365 * (year - 1850), 365 * (year - 1849))
        tas = f.createVariable("tas", "f4", ("time", "lat", "lon"))
        tas[:] = (year + f["lat"][:] / 10)[None, :, None] + 0 * time[:][:, None, None] + 0 * f["lon"][:]
END
`
