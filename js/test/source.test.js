// Where archives come from: servers of all kinds, dropped files, and few requests.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { ChangedError, open, SourceError, store, UnsupportedError } from "../src/index.js";
import { archives, bytesOf, folder, noise, server, testdata } from "./helpers.js";

function large(t) {
  const dir = folder(t);
  writeFileSync(`${dir}/x.nc`, noise(20, 90, 180));
  return bytesOf(archives(`${dir}/made`, [`${dir}/x.nc`], "--preset", "fast")[0]);
}

test("few requests", async (t) => {
  const bytes = large(t), log = [];
  assert.ok(bytes.length > 500000, `${bytes.length} bytes`);
  const a = await open(await server(t, bytes, { log }));
  assert.ok(log.length <= 3, log.join(" "));
  assert.equal(log[0], "bytes=0-65535");
  const v = a.variables.find((v) => v.shape.length === 3);
  for (const i of [0, Math.floor(v.shape[0] / 2)]) {
    const before = log.length;
    await v.get([i]);
    assert.ok(log.length - before <= 2, log.slice(before).join(" "));
  }
  const before = log.length;
  await v.get([0]);
  assert.equal(log.length, before, "it is in the cache");
  assert.equal(log.length, a.source.requests);
  const other = await open(bytes);
  assert.deepEqual((await v.get()).data, (await other.variables[v.num].get()).data);
});

test("a blob, as of a dropped file", async (t) => {
  const bytes = large(t);
  const a = await open(new Blob([bytes]));
  const b = await open(bytes.buffer);
  for (const v of a.variables) assert.deepEqual((await v.get()).data, (await b.variables[v.num].get()).data);
});

test("a Buffer of node is not changed", async (t) => {
  const [file] = archives(folder(t), [`${testdata}classic/cdf2_climate.nc`], "-d", "0"); // without filters, its blocks are bytes of the file
  const buffer = readFileSync(file);
  const a = await open(buffer), zarr = store(a);
  for (const v of a.variables) {
    const { data } = await v.get();
    const chunk = await zarr.get(`/${v.path}/${v.shape.map(() => 0).join(".") || 0}`);
    chunk?.fill(255); // zarrita changes the order of its bytes
    data.fill(data instanceof BigInt64Array ? 1n : 1);
  }
  assert.ok(buffer.equals(readFileSync(file)));
});

test("a changed file", async (t) => {
  const bytes = large(t);
  const url = await server(t, bytes, { etag: (n) => (n > 3 ? '"b"' : '"a"') });
  const a = await open(url, { cache: 0 });
  const read = async () => { for (const v of a.variables) await v.get(); };
  await assert.rejects((async () => { await read(); await read(); })(), (e) => e instanceof ChangedError && /its ETag was "a" and is "b". Open it again/.test(e.message));
});

test("a server without ranges", async (t) => {
  const bytes = large(t);
  const url = await server(t, bytes, { ranges: false });
  const a = await open(url);
  assert.equal(a.source.requests, 1);
  await a.variables.at(-1).get();
  await assert.rejects(open(url, { whole: 1000 }), (e) => e instanceof SourceError && /ignores Range and sends the whole file of \d+ bytes, more than the option whole allows/.test(e.message));
});

test("hidden headers, wrong answers, compression", async (t) => {
  const bytes = large(t);
  const hide = await server(t, bytes, { answer: (q, r) => { r.writeHead(206, { "Content-Length": 65536 }); r.end(bytes.subarray(0, 65536)); return true; } });
  await assert.rejects(open(hide), /Access-Control-Expose-Headers: Content-Range, ETag/);
  const none = await server(t, bytes, { answer: (q, r) => { r.writeHead(404); r.end(); return true; } });
  await assert.rejects(open(none), (e) => e instanceof SourceError && /status 404/.test(e.message));
  const short = await server(t, bytes, { answer: (q, r) => { r.writeHead(206, { "Content-Range": `bytes 0-65535/${bytes.length}` }); r.end(bytes.subarray(0, 100)); return true; } });
  await assert.rejects(open(short), /expected 65536 bytes, found 100/);
  const endless = await server(t, bytes, { answer: (q, r) => {
    r.writeHead(206, { "Content-Range": `bytes 0-65535/${bytes.length}` });
    const write = () => { while (!r.destroyed && r.write(Buffer.alloc(65536))); };
    r.on("drain", write);
    write();
    return true;
  } });
  await assert.rejects(open(endless), (e) => e instanceof SourceError && /expected 65536 bytes, found more/.test(e.message));
  let other; // an answer to another range than was asked for
  const wrong = await server(t, bytes, { answer: (q, r) => other && (r.writeHead(206, { ETag: '"a"', "Content-Range": other }).end(bytes.subarray(0, 10)), true) });
  const a = await open(wrong, { cache: 0 });
  for (other of [`bytes 0-9/${bytes.length}`, "bytes"]) await assert.rejects(a.variable("v").get(), (e) => e instanceof SourceError && /expected \d+ bytes from \d+ on, found 10/.test(e.message));
  await assert.rejects(open("http://127.0.0.1:1/x.nc.cdfz"), (e) => e instanceof SourceError && /could not be read/.test(e.message));
  const empty = await server(t, new Uint8Array());
  await assert.rejects(open(empty), (e) => e instanceof UnsupportedError && /not a cdfz archive: it is empty/.test(e.message));
});

test("CORS: what another origin has to set", async (t) => {
  t.after(() => delete globalThis.location);
  globalThis.location = { origin: "https://viewer.example" };
  await assert.rejects(open("http://127.0.0.1:1/x.nc.cdfz"), /does not allow pages of https:\/\/viewer.example to read it: it has to answer with the headers Access-Control-Allow-Origin/);
});

test("aborts", async (t) => {
  const bytes = large(t);
  let hang = false;
  const url = await server(t, bytes, { answer: () => hang });
  await assert.rejects(open(url, { signal: AbortSignal.abort() }), { name: "AbortError" });
  const a = await open(url, { cache: 0 });
  const v = a.variables.find((v) => a.blocked.get(v.num)?.count > 3);
  const want = await (await open(bytes)).variables[v.num].get();
  hang = true;
  const stop = new AbortController();
  const asked = v.get(null, { signal: stop.signal });
  const same = v.get(); // waits for the same blocks
  setTimeout(() => { hang = false; stop.abort(); }, 50);
  await assert.rejects(asked, { name: "AbortError" });
  assert.deepEqual((await same).data, want.data);
});

test("a reader that ends for a reason of its own does not end others", async (t) => {
  const bytes = large(t);
  let hang = false;
  const a = await open(await server(t, bytes, { answer: () => hang }), { cache: 0 });
  const v = a.variable("v"), reasons = ["enough", undefined, new Error("gone"), new DOMException("too slow", "TimeoutError")];
  const want = await (await open(bytes)).variable("v").get();
  hang = true;
  const stops = reasons.map(() => new AbortController());
  const theirs = stops.map((s) => v.get(null, { signal: s.signal }).then(() => assert.fail("it has an answer"), (e) => e));
  const other = v.get([[2, 5]]);
  setTimeout(() => { hang = false; stops.forEach((s, i) => s.abort(reasons[i])); }, 50);
  assert.deepEqual((await Promise.all(theirs)).map(String), ["enough", "AbortError: This operation was aborted", "Error: gone", "TimeoutError: too slow"]);
  assert.deepEqual((await other).data, want.data.slice(2 * 90 * 180, 5 * 90 * 180));
});

test("other files", async () => {
  await assert.rejects(open(bytesOf(`${testdata}classic/cdf1_bits.nc`)), (e) => e instanceof UnsupportedError && /classic netCDF file, of which cdfz archive makes an archive/.test(e.message));
  await assert.rejects(open(5), TypeError);
});

test("servers that are busy are asked again", async (t) => {
  const bytes = large(t);
  let asked = 0;
  const busy = (times, status, headers) => server(t, bytes, { answer: (q, r) => asked++ < times && (r.writeHead(status, headers).end(), true) });
  for (const [status, headers] of [[503, { "Retry-After": "0" }], [429, { "Retry-After": new Date(0).toUTCString() }], [500, {}]]) {
    asked = 0;
    const a = await open(await busy(1, status, headers));
    assert.equal(asked, 1 + a.source.requests, `${status}`);
  }
  asked = 0;
  await assert.rejects(open(await busy(9, 503, { "Retry-After": "0" })), (e) => e instanceof SourceError && /status 503 Service Unavailable/.test(e.message));
  assert.equal(asked, 4);
  asked = 0;
  await assert.rejects(open(await busy(9, 503, { "Retry-After": "3600" })), /the server asks to wait \(Retry-After: 3600\)/);
  assert.equal(asked, 1, "an hour is too long");
  const stop = new AbortController();
  const waiting = open(await busy(Infinity, 503, { "Retry-After": "9" }), { signal: stop.signal });
  setTimeout(() => stop.abort(), 50);
  await assert.rejects(waiting, { name: "AbortError" });
});

test("answers that are cut are asked for again, past what the browser keeps", async (t) => {
  const bytes = large(t), kept = [];
  let cuts = 0;
  const cut = await server(t, bytes, { answer: (q, r) => {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(q.headers.range).map(Number);
    if (cuts++ % 3 === 2) return false;
    r.writeHead(206, { ETag: '"a"', "Content-Range": `bytes ${from}-${Math.min(to, bytes.length - 1)}/${bytes.length}`, ...(cuts % 3 === 1 && { "Content-Length": 1e6 }) });
    r.write(bytes.subarray(from, from + 100));
    setTimeout(() => (cuts % 3 === 1 ? r.destroy() : r.end()), 5);
    return true;
  } });
  const a = await open(cut, { fetch: (url, init) => (kept.push(init.cache), fetch(url, init)) });
  assert.deepEqual((await a.variable("v").get()).data, (await (await open(bytes)).variable("v").get()).data);
  assert.deepEqual(kept.slice(0, 3), [undefined, "no-store", "no-store"]);
  assert.equal(cuts, 3 * a.source.requests);
});

test("signed addresses: the query is sent, and no message has it", async (t) => {
  const bytes = large(t);
  const ask = "?X-Amz-Signature=secret&response-content-type=x%2Fy", seen = new Set();
  let answer;
  const url = `${await server(t, bytes, { answer: (q, r) => (seen.add(q.url), answer?.(r)) })}${ask}`;
  const a = await open(url, { cache: 0 });
  await a.variables.at(-1).get();
  assert.deepEqual([...seen], [`/x.nc.cdfz${ask}`]);
  const xml = (status, code, message) => (r) => (r.writeHead(status, { "Content-Type": "application/xml" }).end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`), true);
  for (const [status, code, message] of [[403, "AccessDenied", "Request has expired"], [404, "NoSuchKey", "The specified key does not exist."]]) {
    answer = xml(status, code, message);
    for (const f of [() => open(url), () => a.variables.at(-1).get()]) {
      await assert.rejects(f(), (e) => e instanceof SourceError && e.message.includes(`status ${status}`) && e.message.endsWith(`: ${code}: ${message}`) && !e.message.includes("secret"));
    }
  }
  answer = (r) => (r.writeHead(416, { "Content-Range": "bytes */10" }).end(), true);
  await assert.rejects(a.variables.at(-1).get(), (e) => e instanceof ChangedError && /its length was \d+ and is 10/.test(e.message) && !e.message.includes("secret"));
});
