// Palettes. Those of numbers are read without colour vision: the lightness of sequential ones grows steadily, that of
// diverging ones is the same on both sides of the middle, and that of cyclic ones comes back. viridis, cividis, magma,
// inferno, plasma and twilight are those of matplotlib (CC0; cividis by J. Nuñez, C. Anderton and R. Renslow, 2018, twilight
// by B. Bechtold), the diverging ones were made for cdfz with even steps of lightness in CIELAB.

const sequential = ["viridis", "cividis", "magma", "inferno", "plasma", "greys"];
const diverging = ["bluered", "purpleorange"];
const cyclic = ["twilight"];

const anchors = {
  viridis: "440154 470d60 48186a 482374 472d7b 453781 424086 3e4989 3b528b 375b8d 33638d 2f6b8e 2c728e 297a8e 26828e 23898e 21918c 1f988b 1fa088 22a785 28ae80 32b67a 3fbc73 4ec36b 5ec962 70cf57 84d44b 98d83e addc30 c2df23 d8e219 ece51b fde725",
  cividis: "00224e 00285b 002e6a 053371 1a386f 273e6e 32436d 3b496c 434e6c 4b546c 535a6d 5a5f6e 61656f 686a71 6f7073 767676 7d7c78 848279 8c8878 938e78 9b9476 a39a74 aba072 b4a76f bcae6c c4b468 cdbb63 d5c25e dec958 e7d150 f0d846 f9e03a fee838",
  magma: "000004 030312 0a0822 130d34 1d1147 29115a 36106b 440f76 51127c 5d177f 6a1c81 762181 832681 902a81 9c2e7f aa337d b73779 c43c75 d0416f dc4869 e75263 ef5d5e f56b5c f9795d fc8961 fd9869 fea772 feb67c fec488 fed395 fde2a3 fcf0b2 fcfdbf",
  inferno: "000004 040312 0b0724 150b37 210c4a 2f0a5b 3d0965 4a0c6b 57106e 64156e 71196e 7d1e6d 8a226a 972766 a32c61 b0315b bc3754 c73e4c d24644 db503b e45a31 eb6628 f1731d f68013 f98e09 fb9d07 fcac11 fbbc21 f9cb35 f5db4c f2ea69 f3f68a fcffa4",
  plasma: "0d0887 220690 310597 3f049c 4c02a1 5901a5 6600a7 7201a8 7e03a8 8a09a5 9511a1 a01a9c aa2395 b32c8e bc3587 c43e7f cc4778 d35171 da5a6a e06363 e66c5c eb7655 f0804e f58b47 f89540 fba139 fdac33 feb82c fdc527 fcd225 f8df25 f4ed27 f0f921",
  twilight: "e2d9e2 d7d7dd c4ced4 acc2cc 95b5c7 81a6c3 7297c1 6887be 6276ba 5f64b5 5e51ad 5d3da1 592a8f 511b77 45135c 381145 2f1436 3a113a 4a1342 5f174a 741e4f 872750 983550 a64550 b25652 bb6958 c27c63 c89073 cca389 d1b6a3 d8c7be dfd4d6 e2d9e2",
  greys: "181818 f4f4f4",
  bluered: "00346a 003f79 024a88 005697 0061a7 036db5 037ac5 0186d4 0393e3 2aa0ed 4facf1 6db8f4 87c4f5 a1cff6 bbdbf6 d5e6f4 f1f1f1 f5dfd7 f6cebf f5beaa f2ad96 ee9d83 e88d72 e17d62 d96e54 d05e47 c64f3b bb4031 af3028 a22020 940e19 840014 700011",
  purpleorange: "481c76 522785 5d3294 673da1 7149ae 7c56ba 8662c5 916fcf 9b7dd7 a68adf b098e5 bba7ea c5b5ee d0c4f1 dbd2f2 e6e1f3 f1f1f1 efe2d2 ebd3b7 e6c49e e1b687 dba771 d4995c cc8a4a c47c38 bb6e28 b26018 a75308 9b4600 8d3c00 7e3200 6f2800 5f2100",
};

// The colours of categories: those of M. Okabe and K. Ito, which people who see colours otherwise tell apart, and then
// lighter and darker ones.
const okabe = "0072b2 e69f00 009e73 cc79a7 f0e442 56b4e9 d55e00 999999";

export const kinds = { sequential, diverging, cyclic };

// plain are the names of palettes, and names those with the reversed ones.
export const plain = [...sequential, ...diverging, ...cyclic];
export const names = plain.flatMap((n) => [n, `${n}_r`]);

// kindOf returns the kind of a palette, which is also that of its reverse.
export const kindOf = (name) => Object.keys(kinds).find((k) => kinds[k].includes(name.replace(/_r$/, "")));

const parse = (text) => text.split(" ").map((s) => [0, 2, 4].map((i) => parseInt(s.slice(i, i + 2), 16)));

// table returns 256 colours: red, green and blue of each.
export function table(name) {
  const stops = parse(anchors[name.replace(/_r$/, "")]);
  if (name.endsWith("_r")) stops.reverse();
  const out = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    for (let c = 0; c < 3; c++) out[3 * i + c] = Math.round(stops[k][c] + (at - k) * (stops[k + 1][c] - stops[k][c]));
  }
  return out;
}

// distinct returns the colours of n categories.
export function distinct(n) {
  const base = parse(okabe);
  const out = new Uint8Array(3 * n);
  for (let i = 0; i < n; i++) {
    const round = Math.floor(i / base.length), part = 0.25 * Math.ceil(round / 2), to = round % 2 === 1 ? 255 : 0;
    out.set(base[i % base.length].map((v) => Math.round(v + (to - v) * Math.min(0.85, part * 1.6))), 3 * i);
  }
  return out;
}
