package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"

	"github.com/cdfz-format/cdfz/bench/internal/run"
)

//go:embed peers.py
var peersScript []byte

//go:embed blosc/kernels.c
var kernelsSource []byte

// peers is the Python program that runs the other implementations.
type peers struct {
	*run.Child
	blocks   *os.File
	len      int64
	versions map[string]string
}

// startPeers compiles the kernels of C-Blosc and starts the program.
func startPeers(ctx context.Context) (*peers, error) {
	script, err := run.Script("peers.py", peersScript)
	if err != nil {
		return nil, err
	}
	source, err := run.Script("kernels.c", kernelsSource)
	if err != nil {
		return nil, err
	}
	library := run.Temp("kernels.so")
	if _, err := run.Command(ctx, "gcc", "-O2", "-shared", "-fPIC", "-o", library, source, "-l:libblosc.a", "-lpthread"); err != nil {
		return nil, fmt.Errorf("with libblosc-dev: %w", err)
	}
	p := &peers{}
	if p.blocks, err = os.Create(run.Temp("blocks")); err != nil {
		return nil, err
	}
	if p.Child, err = run.Start(ctx, nil, "/usr/bin/python3", script, p.blocks.Name(), library); err != nil {
		return nil, err
	}
	return p, p.ask(map[string]any{"op": "versions"}, &p.versions)
}

func (p *peers) close() {
	p.Stop()
	p.blocks.Close()
}

// ask sends a question and parses the answer.
func (p *peers) ask(question map[string]any, answer any) error {
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	line, err := p.Ask(append(text, '\n'))
	if err != nil {
		return fmt.Errorf("peers.py: %w", err)
	}
	var failed struct{ Error string }
	if json.Unmarshal(line, &failed) == nil && failed.Error != "" {
		return fmt.Errorf("peers.py: %v: %s", question["peer"], failed.Error)
	}
	return json.Unmarshal(line, answer)
}

// place puts a block where the program reads it.
func (p *peers) place(b *block) error {
	if b.at > 0 {
		return nil
	}
	if p.len == 0 {
		p.len = 1 // a place is not 0
	}
	if _, err := p.blocks.WriteAt(b.raw, p.len); err != nil {
		return err
	}
	b.at = p.len
	p.len += int64(len(b.raw))
	return nil
}

// open makes the codecs of a peer for blocks and returns which blocks it refuses.
func (p *peers) open(peer string, blocks []*coded, configs []any) (refused []int, err error) {
	var places [][]any
	for _, b := range blocks {
		if err := p.place(b.block); err != nil {
			return nil, err
		}
		places = append(places, []any{b.at, len(b.raw), b.dtype()})
	}
	var a struct{ Refused []int }
	err = p.ask(map[string]any{"op": "open", "peer": peer, "blocks": places, "configs": configs}, &a)
	return a.Refused, err
}

// timed is the answer to encode and decode.
type timed struct{ NS, Stored int64 }

func (p *peers) run(op, peer string, times int, exact bool) (t timed, err error) {
	err = p.ask(map[string]any{"op": op, "peer": peer, "times": times, "exact": exact}, &t)
	return t, err
}

// stored returns the blocks that a peer encoded.
func (p *peers) stored(peer string) ([][]byte, error) {
	name := p.blocks.Name() + ".stored"
	var a struct{ Lengths []int }
	if err := p.ask(map[string]any{"op": "store", "peer": peer, "file": name}, &a); err != nil {
		return nil, err
	}
	all, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, n := range a.Lengths {
		out, all = append(out, all[:n]), all[n:]
	}
	return out, nil
}
