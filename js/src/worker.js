// The script of threads of pages.
import { answer } from "./thread.js";

answer(globalThis);
