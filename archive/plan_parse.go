package archive

import (
	"encoding/json"
	"strings"

	"github.com/cdfz-format/cdfz/unlimited"
)

// unmarshal decodes a plan without checking it.
func (p *Plan) unmarshal(b []byte) error {
	c := &canon{s: string(b)}
	if q := c.plan(); c.done() {
		*p = q
		return nil
	}
	return json.Unmarshal(b, p)
}

func (c *canon) plan() (p Plan) {
	c.want(`{"format":`)
	p.Format = c.int()
	c.want(`,"features":`)
	p.Features = list(c, 4, (*canon).text)
	c.want(`,"writer":`)
	p.Writer = c.text()
	c.want(`,"layout":`)
	p.Layout = Layout(c.text())
	c.want(`,"image":{"size":`)
	p.Image.Size = c.int64()
	c.want(`,"header":`)
	p.Image.Header = c.int64()
	c.want(`},"block":`)
	p.Block = c.int64()
	c.want(`,"chains":`)
	p.Chains = list(c, 4, func(c *canon) []PlanFilter { return list(c, 4, (*canon).planFilter) })
	c.want(`,"rest":{"len":`)
	p.Rest.Len = c.int64()
	c.want(`,"first":`)
	p.Rest.First = c.int64()
	c.want(`,"block":`)
	p.Rest.Block = c.int64()
	c.want(`,"chain":`)
	p.Rest.Chain = c.int()
	c.want(`},"vars":`)
	p.Vars = list(c, min(strings.Count(c.s, `{"var":`), 512), (*canon).planVar)
	c.want(`,"groups":`)
	p.Groups = list(c, len(p.Vars), func(c *canon) []int { return list(c, 1, (*canon).int) })
	c.want(`}`)
	return p
}

func (c *canon) planFilter() (f PlanFilter) {
	c.want(`{"id":`)
	f.ID = c.uint32()
	if c.opt(`,"params":`) {
		f.Params = list(c, 4, (*canon).uint32)
	}
	f.Optional = c.opt(`,"optional":true`)
	if c.opt(`,"name":`) {
		f.Name = c.text()
	}
	if c.opt(`,"codec":`) {
		f.Codec = c.object()
	}
	c.want(`}`)
	return f
}

func (c *canon) planVar() (v PlanVar) {
	c.want(`{"var":`)
	v.Var = c.int()
	c.want(`,"path":`)
	v.Path = c.text()
	c.want(`,"type":`)
	v.Type = c.text()
	c.want(`,"shape":`)
	v.Shape = list(c, 4, (*canon).int64)
	c.want(`,"block":`)
	v.Block = list(c, 4, (*canon).int64)
	c.want(`,"chain":`)
	v.Chain = c.int()
	c.want(`,"segment":`)
	v.Segment = c.segment()
	if c.opt(`,"part":`) {
		v.Part = c.int64()
	}
	if c.opt(`,"view":`) {
		v.View = c.text()
	}
	c.want(`}`)
	return v
}

func (c *canon) segment() (s unlimited.Segment) {
	c.want(`{"off":`)
	s.Off = c.int64()
	c.want(`,"len":`)
	s.Len = c.int64()
	c.want(`,"stride":`)
	s.Stride = c.int64()
	c.want(`,"count":`)
	s.Count = c.int64()
	c.want(`}`)
	return s
}

// unmarshal decodes a manifest without checking it.
func (m *Manifest) unmarshal(b []byte) error {
	c := &canon{s: string(b)}
	if q := c.manifest(); c.done() {
		*m = q
		return nil
	}
	return json.Unmarshal(b, m)
}

func (c *canon) manifest() (m Manifest) {
	c.want(`{`)
	if c.opt(`"name":`) {
		m.Name = c.text()
		c.want(`,`)
	}
	if c.opt(`"name_hex":`) {
		m.NameHex = c.text()
		c.want(`,`)
	}
	c.want(`"size":`)
	m.Size = c.int64()
	c.want(`,"sha256":`)
	m.SHA256 = c.text()
	c.want(`,"entries":`)
	m.Entries = c.int64()
	c.want(`,"blocks":`)
	m.Blocks = c.int64()
	c.want(`,"stored":`)
	m.Stored = c.int64()
	c.want(`,"front":{"len":`)
	m.Front.Len = c.int64()
	c.want(`,"crc32":`)
	m.Front.CRC32 = c.text()
	c.want(`},"plan":`)
	m.Plan = c.place()
	c.want(`,"header":`)
	m.Header = c.place()
	c.want(`}`)
	return m
}

func (c *canon) place() (p Place) {
	c.want(`{"off":`)
	p.Off = c.int64()
	c.want(`,"len":`)
	p.Len = c.int64()
	if c.opt(`,"mask":`) {
		p.Mask = c.uint32()
	}
	c.want(`,"crc32":`)
	p.CRC32 = c.text()
	c.want(`}`)
	return p
}
