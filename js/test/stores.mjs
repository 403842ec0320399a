// node stores.mjs STORE
import { createHash } from "node:crypto";
import { stores } from "./stores.js";

console.log(await stores(process.argv[2], (b) => createHash("sha256").update(b).digest("hex")));
