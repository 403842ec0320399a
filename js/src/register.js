// import "cdfz/register" makes zarrita read blocks of the codec lorenz in any Zarr store.
import { registry } from "zarrita";
import { Lorenz } from "./codec.js";

registry.set("numcodecs.lorenz", async () => Lorenz);
registry.set("cdfz.lorenz", async () => Lorenz);
