package cdl

import "strings"

// decomposed reports whether a name has a letter followed by a mark that Unicode's
// normal form C combines into one character. It does not detect other deviations from
// that form, which would need tables for every script.
func decomposed(name string) bool {
	var base rune
	for _, c := range name {
		if strings.ContainsRune(composing[c], base) && base != 0 || hangul(base, c) {
			return true
		}
		if composing[c] == "" {
			base = c
		}
	}
	return false
}

// hangul reports whether two Korean letters, or a syllable and a letter, form a
// syllable.
func hangul(a, b rune) bool {
	switch {
	case a >= 0x1100 && a <= 0x1112:
		return b >= 0x1161 && b <= 0x1175
	case a >= 0xac00 && a <= 0xd7a3 && (a-0xac00)%28 == 0:
		return b >= 0x11a8 && b <= 0x11c2
	}
	return false
}

// composing maps each combining character to the characters it combines with. From the
// decompositions of the Unicode Character Database, version 14.0.0, without its
// composition exclusions.
var composing = map[rune]string{
	'\u0300':     "AEIOUaeiouÜüNnЕИеиĒēŌōWwÂâĂăÊêÔôƠơƯưYyἀἁἈἉἐἑἘἙἠἡἨἩἰἱἸἹὀὁὈὉὐὑὙὠὡὨὩαεηιουωΑΕΗ᾿ϊΙ῾ϋΥ¨ΟΩ",
	'\u0301':     "AEIOUYaeiouyCcLlNnRrSsZzÜüGgÅåÆæØø¨ΑΕΗΙΟΥΩϊαεηιϋουωϒГКгкÇçĒēÏïKkMmÕõŌōPpŨũWwÂâĂăÊêÔôƠơƯưἀἁἈἉἐἑἘἙἠἡἨἩἰἱἸἹὀὁὈὉὐὑὙὠὡὨὩ᾿῾",
	'\u0302':     "AEIOUaeiouCcGgHhJjSsWwYyZzẠạẸẹỌọ",
	'\u0303':     "ANOanoIiUuVvÂâĂăEeÊêÔôƠơƯưYy",
	'\u0304':     "AaEeIiOoUuÜüÄäȦȧÆæǪǫÖöÕõȮȯYyИиУуGgḶḷṚṛαΑιΙυΥ",
	'\u0306':     "AaEeGgIiOoUuУИиуЖжАаЕеȨȩẠạαΑιΙυΥ",
	'\u0307':     "CcEeGgIZzAaOoBbDdFfHhMmNnPpRrSsŚśŠšṢṣTtWwXxYyſ",
	'\u0308':     "AEIOUaeiouyYΙΥιυϒЕІеіАаӘәЖжЗзИиОоӨөЭэУуЧчЫыHhÕõŪūWwXxt",
	'\u0309':     "AaÂâĂăEeÊêIiOoÔôƠơUuƯưYy",
	'\u030a':     "AaUuwy",
	'\u030b':     "OoUuУу",
	'\u030c':     "CcDdEeLlNnRrSsTtZzAaIiOoUuÜüGgKkƷʒjHh",
	'\u030f':     "AaEeIiOoRrUuѴѵ",
	'\u0311':     "AaEeIiOoRrUu",
	'\u0313':     "αΑεΕηΗιΙοΟυωΩρ",
	'\u0314':     "αΑεΕηΗιΙοΟυΥωΩρΡ",
	'\u031b':     "OoUu",
	'\u0323':     "BbDdHhKkLlMmNnRrSsTtVvWwZzAaEeIiOoƠơUuƯưYy",
	'\u0324':     "Uu",
	'\u0325':     "Aa",
	'\u0326':     "SsTt",
	'\u0327':     "CcGgKkLlNnRrSsTtEeDdHh",
	'\u0328':     "AaEeIiUuOo",
	'\u032d':     "DdEeLlNnTtUu",
	'\u032e':     "Hh",
	'\u0330':     "EeIiUu",
	'\u0331':     "BbDdKkLlNnRrTtZzh",
	'\u0338':     "\u2190\u2192\u2194\u21d0\u21d4\u21d2\u2203\u2208\u220b\u2223\u2225\u223c\u2243\u2245\u2248=\u2261\u224d<>\u2264\u2265\u2272\u2273\u2276\u2277\u227a\u227b\u2282\u2283\u2286\u2287\u22a2\u22a8\u22a9\u22ab\u227c\u227d\u2291\u2292\u22b2\u22b3\u22b4\u22b5",
	'\u0342':     "ἀἁἈἉἠἡἨἩἰἱἸἹὐὑὙὠὡὨὩα¨η᾿ιϊ῾υϋω",
	'\u0345':     "ἀἁἂἃἄἅἆἇἈἉἊἋἌἍἎἏἠἡἢἣἤἥἦἧἨἩἪἫἬἭἮἯὠὡὢὣὤὥὦὧὨὩὪὫὬὭὮὯὰαάᾶΑὴηήῆΗὼωώῶΩ",
	'\u0653':     "ا",
	'\u0654':     "اويەہے",
	'\u0655':     "ا",
	'\u093c':     "नरळ",
	'\u09be':     "\u09c7",
	'\u09d7':     "\u09c7",
	'\u0b3e':     "\u0b47",
	'\u0b56':     "\u0b47",
	'\u0b57':     "\u0b47",
	'\u0bbe':     "\u0bc6\u0bc7",
	'\u0bd7':     "ஒ\u0bc6",
	'\u0c56':     "\u0c46",
	'\u0cc2':     "\u0cc6",
	'\u0cd5':     "\u0cbf\u0cc6\u0cca",
	'\u0cd6':     "\u0cc6",
	'\u0d3e':     "\u0d46\u0d47",
	'\u0d57':     "\u0d46",
	'\u0dca':     "\u0dd9\u0ddc",
	'\u0dcf':     "\u0dd9",
	'\u0ddf':     "\u0dd9",
	'\u102e':     "ဥ",
	'\u1b35':     "ᬅᬇᬉᬋᬍᬑ\u1b3a\u1b3c\u1b3e\u1b3f\u1b42",
	'\u3099':     "\u304b\u304d\u304f\u3051\u3053\u3055\u3057\u3059\u305b\u305d\u305f\u3061\u3064\u3066\u3068\u306f\u3072\u3075\u3078\u307b\u3046\u309d\u30ab\u30ad\u30af\u30b1\u30b3\u30b5\u30b7\u30b9\u30bb\u30bd\u30bf\u30c1\u30c4\u30c6\u30c8\u30cf\u30d2\u30d5\u30d8\u30db\u30a6\u30ef\u30f0\u30f1\u30f2\u30fd",
	'\u309a':     "\u306f\u3072\u3075\u3078\u307b\u30cf\u30d2\u30d5\u30d8\u30db",
	'\U000110ba': "\U00011099\U0001109b\U000110a5",
	'\U00011127': "\U00011131\U00011132",
	'\U0001133e': "\U00011347",
	'\U00011357': "\U00011347",
	'\U000114b0': "\U000114b9",
	'\U000114ba': "\U000114b9",
	'\U000114bd': "\U000114b9",
	'\U000115af': "\U000115b8\U000115b9",
	'\U00011930': "\U00011935",
}
