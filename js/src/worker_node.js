// The script of threads of node.
import { parentPort } from "node:worker_threads";
import { answer } from "./thread.js";

answer(parentPort);
