// A program in TypeScript, which types.test.js has checked.
import { CdfzError, ChangedError, open, store, type Archive, type Part, type Values } from "cdfz";
import "cdfz/register";

const stop = new AbortController();
const archive: Archive = await open(new URL("https://data.example/x.nc.cdfz"), { workers: "worker.js", cache: 1 << 20, signal: stop.signal });
const v = archive.variable("tas");
if (v) {
  const part: Part = await v.get({ time: 0, lat: [10, 20], lon: { start: 1, stop: 9, step: 2 } }, { signal: stop.signal });
  const data: Values = part.data;
  const first: number | bigint | undefined = data[0];
  console.log(first, part.shape.length, v.attributes.units);
}
const chunk: Uint8Array | undefined = await store(archive).get("/tas/0.0");
try {
  await archive.image(0, 4);
} catch (e) {
  if (e instanceof CdfzError && !(e instanceof ChangedError)) console.log(e.message, chunk?.length);
}
// @ts-expect-error: no such option
await open("x", { worker: true });
// @ts-expect-error: it may be missing
await archive.variable("tas").get();
// @ts-expect-error: a list has start and stop
await archive.variable("tas")!.get([[0]]);
