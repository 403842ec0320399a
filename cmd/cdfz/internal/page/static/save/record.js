// Saving an animation: a ZIP file of PNG pictures, a GIF, or a WebM video.
import * as animation from "../panels/animation.js";
import { $ } from "../panels/dom.js";
import { count } from "../data/frames.js";
import { canvasOf } from "./picture.js";
import { applyPalette, GIFEncoder, quantize } from "../vendor/gifenc.js";
import { Zip } from "./zip.js";

const mostFrames = 2000;
const mostBytes = 512 << 20;

let page = null;

const video = () => globalThis.MediaRecorder && HTMLCanvasElement.prototype.captureStream && ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"].find((t) => MediaRecorder.isTypeSupported(t));

// start connects the buttons. picture returns the picture of the map, name the name of a file, and offer gives it to the user.
export function start(functions) {
  page = functions;
  for (const [kind, make] of Object.entries({ zip: pictures, gif, webm })) $(`save-frames-${kind}`).addEventListener("click", () => save(kind, make));
  if (!video()) {
    $("save-frames-webm").disabled = true;
    $("save-frames-note").textContent = "This browser records no WebM video. GIF and PNG work in all.";
  }
  $("save-stop").addEventListener("click", animation.end);
}

async function save(kind, make) {
  const n = count(animation.current());
  $("save-error").textContent = "";
  try {
    if ($("map-section").hidden) throw new Error("An animation can be saved of a map.");
    if (n > mostFrames) throw new Error(`These are ${n} frames, and at most ${mostFrames} are saved: choose fewer under Frames.`);
    $("save-stop").hidden = false;
    $("save-progress").textContent = `0 of ${n} frames`;
    const m = make();
    let done = 0, canvas;
    const whole = await animation.record(async (index) => {
      canvas = canvasOf(page.picture(), m.scale, canvas);
      const bytes = await m.add(canvas, done, index);
      if (bytes > mostBytes) throw new Error(`The frames take more than ${mostBytes >> 20} MiB: choose fewer under Frames.`);
      $("save-progress").textContent = `${++done} of ${n} frames`;
      await new Promise((resolve) => setTimeout(resolve)); // for the button that stops it
    }, m.paced);
    const blob = await m.finish();
    $("save-progress").textContent = whole ? `${n} frames, ${(blob.size / 1e6).toPrecision(2)} MB` : "stopped";
    if (whole) page.offer(blob, page.name("frames", kind));
  } catch (e) {
    $("save-progress").textContent = "";
    $("save-error").textContent = e.message;
  } finally {
    $("save-stop").hidden = true;
  }
}

// Each way has the pixels for a CSS pixel, a function that adds a frame and returns how many bytes there are, and one that
// finishes. A frame that is paced is shown as long as in the animation.

function pictures() {
  const zip = new Zip();
  return {
    scale: devicePixelRatio || 1,
    async add(canvas, n, index) {
      const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
      if (!blob) throw new Error("The browser could not make a PNG file of this size.");
      zip.add(page.name("frames", "png").replace(/\.png$/, `-${String(index).padStart(5, "0")}.png`), new Uint8Array(await blob.arrayBuffer()));
      return zip.size;
    },
    finish: () => zip.finish(),
  };
}

function gif() {
  const out = GIFEncoder();
  return {
    scale: 1,
    async add(canvas) {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const palette = quantize(data, 256);
      out.writeFrame(applyPalette(data, palette), canvas.width, canvas.height, { palette, delay: animation.period() });
      return out.bytesView().length;
    },
    finish() {
      out.finish();
      return new Blob([out.bytesView()], { type: "image/gif" });
    },
  };
}

function webm() {
  const parts = [];
  let size = 0, recorder = null, track = null, ended = null;
  return {
    scale: 1, paced: true,
    async add(canvas) {
      if (!recorder) {
        const stream = canvas.captureStream(0);
        [track] = stream.getVideoTracks();
        recorder = new MediaRecorder(stream, { mimeType: video(), videoBitsPerSecond: 8e6 });
        recorder.ondataavailable = (e) => {
          parts.push(e.data);
          size += e.data.size;
        };
        ended = new Promise((resolve, reject) => {
          recorder.onstop = resolve;
          recorder.onerror = (e) => reject(e.error ?? new Error("The browser could not record the video."));
        });
        ended.catch(() => {});
        recorder.start(1000);
      }
      track.requestFrame();
      return size;
    },
    async finish() {
      if (recorder) {
        track.requestFrame(); // the last frame lasts, too
        await new Promise((resolve) => setTimeout(resolve, 100)); // Chromium gives frames to the recorder later
        recorder.stop();
        await ended;
        if (size === 0) throw new Error("The browser recorded no video. Save it again, or as a GIF.");
      }
      return new Blob(parts, { type: "video/webm" });
    },
  };
}
