package main

import "fmt"

// pooledHeader is the length of the header of the pooled image.
const pooledHeader = 252

// pooledImage is a CDF-1 file of three records. Its variables are p(x) and s(y), and in
// the records q(time), r(time) and t(time, y).
func pooledImage() []byte {
	const begin = pooledHeader
	b := append([]byte("CDF\x01"), words(3, 0x0a, 3, "time", 0, "x", 3, "y", 2, 0, 0, 0x0b, 5,
		"p", 1, 1, 0, 0, ncFloat, 12, begin,
		"q", 1, 0, 0, 0, ncFloat, 4, begin+16,
		"r", 1, 0, 0, 0, ncShort, 4, begin+20,
		"s", 1, 2, 0, 0, ncShort, 4, begin+12,
		"t", 2, 0, 2, 0, 0, ncShort, 4, begin+24)...)
	if len(b) != begin {
		panic(fmt.Sprintf("header of %d bytes", len(b)))
	}
	b = append(b, 0x3f, 0x80, 0, 0, 0x40, 0, 0, 0, 0x40, 0x40, 0, 0) // p
	b = append(b, 0, 1, 0, 2)                                        // s
	for i := range byte(3) {
		b = append(b, 0x42, i, 0, 0)          // q
		b = append(b, 0, 0x10+i, 0xee, 0xee)  // r
		b = append(b, 0, 0x20+i, 0, 0x30+2*i) // t
	}
	return b
}

// pooledPlan has s on its own, q and p in one pool, in this order, r and t in another, whose last
// block is short, and a chain for the header alone.
const pooledPlan = `{"format":1,"features":[],"writer":"vectors","image":{"size":304,"header":252},"block":1024,` +
	`"chains":[[],[{"id":2,"params":[4]}],[{"id":32015}]],` +
	`"rest":{"len":258,"first":252,"block":1024,"chain":0,"head":2},"vars":[` +
	`{"var":3,"path":"s","type":"short","shape":[2],"block":[2],"chain":0,"segment":{"off":264,"len":4,"stride":0,"count":1}}],` +
	`"groups":[[0]],"pools":[` +
	`{"vars":[1,0],"type":"float","shape":[2,3],"block":[1,3],"chain":1},` +
	`{"vars":[2,4],"type":"short","shape":[9],"block":[5],"chain":0}]}`

// Positions of the blocks of the pooled archive, in stored order.
const (
	pool00 = iota + 2 // .cdfz/pool/0/0.0
	pool01
	pool10
	pool11
)

func pooled() *archive {
	a := base()
	a.image, a.plan = pooledImage(), pooledPlan
	var q, r, t, rest []byte
	for i := range 3 {
		rec := a.image[268+12*i:][:12]
		q, r, t = append(q, rec[:4]...), append(r, rec[4:6]...), append(t, rec[8:]...)
		rest = append(rest, rec[6:8]...)
	}
	shorts := append(r, t...)
	last := shorts[16:]
	a.blocks = []entry{
		stored(".cdfz/rest/0", zstdFrame(a.image[:pooledHeader])),
		stored("s/0", a.image[264:268]),
		stored(".cdfz/pool/0/0.0", shuffle(q, 4)),
		stored(".cdfz/pool/0/1.0", shuffle(a.image[252:264], 4)),
		stored(".cdfz/pool/1/0", shorts[:10]),
		stored(".cdfz/pool/1/1", cat(shorts[10:], last)),
		stored(".cdfz/rest/1", rest),
	}
	a.number = []int{5, 0, 1, 2, 3, 4, 6}
	return a
}

// badPools have a fault of their pools.
func badPools() []vector {
	d := func(name, what, section, old, new string) vector {
		return vector{name, what, damage, damage, section, with(pooled(), func(a *archive) { a.plan = swap(a.plan, old, new) })}
	}
	return []vector{
		d("plan_pools_null", "pools are null", "5.1", `"pools":[{"vars":[1,0]`, `"pools":null,"x":[{"vars":[1,0]`),
		d("plan_pool_empty", "a pool without variables", "7.6", `"vars":[2,4]`, `"vars":[]`),
		d("plan_pool_member", "a pool without a chain", "7.6", `"block":[5],"chain":0`, `"block":[5]`),
		d("plan_pool_chain", "a pool with a chain that is not there", "7.6", `"block":[5],"chain":0`, `"block":[5],"chain":3`),
		d("plan_pool_type_unknown", "a pool of an unknown type", "7.6", `"type":"float"`, `"type":"half"`),
		d("plan_pool_type", "a pool of another type than its variables", "7.6", `"type":"float"`, `"type":"int"`),
		d("plan_pool_type_one", "a pool of another type than one of its variables", "7.6", `[2,4],"type":"short","shape":[9],"block":[5],"chain":0}`, `[2,0],"type":"short","shape":[9],"block":[5],"chain":0}`),
		d("plan_pool_shape", "a pool whose variables have less bytes than its shape", "7.6", `"vars":[2,4],"type":"short","shape":[9]`, `"vars":[4],"type":"short","shape":[9]`),
		d("plan_pool_shape_short", "a pool whose variables have more bytes than its shape", "7.6", `"shape":[9],"block":[5]`, `"shape":[8],"block":[5]`),
		d("plan_pool_block", "a pool whose block shape exceeds its shape", "8.1", `"shape":[9],"block":[5]`, `"shape":[9],"block":[10]`),
		d("plan_pool_rank", "a pool with a block shape of another rank", "8.1", `"shape":[9],"block":[5]`, `"shape":[9],"block":[5,1]`),
		d("plan_pool_twice", "a variable twice in a pool", "7.6", `"vars":[2,4]`, `"vars":[2,2]`),
		d("plan_pool_both", "a variable in two pools", "7.6", `"vars":[1,0],"type":"float","shape":[2,3],"block":[1,3]`, `"vars":[1],"type":"float","shape":[3],"block":[3],"chain":1},{"vars":[1],"type":"float","shape":[3],"block":[3]`),
		d("plan_pool_blocked", "a pooled variable that has blocks of its own", "7.6", `"vars":[2,4],"type":"short","shape":[9]`, `"vars":[2,4,3],"type":"short","shape":[11]`),
		d("plan_pool_beyond", "a pooled variable that the header does not have", "7.6", `"vars":[2,4]`, `"vars":[2,5]`),
		d("plan_pool_overflow", "a pool of more bytes than a number holds", "7.6", `"shape":[9],"block":[5]`, `"shape":[4611686018427387904,9],"block":[1,9]`),
		d("plan_rest_head", "block 0 of the rest has a chain that is not there", "7.3", `"head":2`, `"head":3`),
		{"pool_order", "the variables of a pool in another order, which the bytes show", damage, damage, "7.6",
			with(pooled(), func(a *archive) { a.plan = swap(a.plan, `"vars":[1,0]`, `"vars":[0,1]`) })},
		{"pool_block_crc", "a block of a pool has another checksum", damage, damage, "9.1", with(pooled(), func(a *archive) {
			a.rows = func(r []row) { r[3].crc ^= 1 }
		})},
		{"pool_padding", "the padding of a pool does not repeat its last element", image, damage, "15.2", with(pooled(), func(a *archive) {
			b := append([]byte{}, a.blocks[pool11].data...)
			b[len(b)-1] ^= 1
			a.blocks[pool11] = stored(a.blocks[pool11].name, b)
		})},
	}
}
