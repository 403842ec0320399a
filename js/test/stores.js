// An archive in a store like S3 of another origin, by addresses with a signature, in browsers and in node.
import { ChangedError, open, SourceError } from "../src/index.js";

const check = (ok, message) => {
  if (!ok) throw new Error(message);
};

/** stores reads the keys of a store, whose faults package_store_judge_test.go has, and returns how many. sha256 is for bytes. */
export async function stores(store, sha256) {
  const signed = (key) => `${store}/bucket/${key}/x.nc.cdfz?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=5ecret`;
  const whole = async (a) => check((await sha256(await a.image(0, a.size))) === a.sha256, "another image");
  const page = typeof document !== "undefined";
  const refused = async (promise, Class, ...texts) => {
    const e = await promise.then(() => null, (e) => e);
    check(e instanceof Class, `expected a ${Class.name} with ${texts}, found ${e}`);
    for (const text of texts) check(e.message.includes(text), `expected ${text}, found ${e.message}`);
    check(!e.message.includes("5ecret"), `a signature: ${e.message}`);
  };
  const good = await open(signed("good"));
  await whole(good);
  check(good.source.requests <= 4, `${good.source.requests} requests`);
  await whole(await open(signed("busy"), { cache: 0 }));

  await refused(open(`${store}/bucket/good/x.nc.cdfz`), SourceError, "status 403", "AccessDenied: what the store says");
  await refused(open(signed("nothing")), SourceError, "status 404", "NoSuchKey");
  await refused(open(signed("later")), SourceError, "status 503", "the server asks to wait (Retry-After: 3600)");
  if (page) {
    const set = "Access-Control-Allow-Origin: * (or the page's origin) and Access-Control-Expose-Headers: Content-Range, ETag";
    await refused(open(signed("hidden")), SourceError, "hides the length", set);
    await refused(open(signed("closed")), SourceError, `does not allow pages of ${location.origin} to read it`, set);
  }
  const changing = await open(signed("changing"), { cache: 0 });
  check((await fetch(`${store}/change`)).ok, "no change");
  await refused(changing.image(0, changing.size), ChangedError, "has changed since it was opened: its ETag was");
  return page ? 8 : 6;
}
