//go:build !unix

package main

import (
	"context"
	"errors"

	"github.com/cdfz-format/cdfz/bench/internal/run"
)

func (s *steps) killed(context.Context, string, *run.Table) error {
	return errors.New("-kills: expected a system with process groups")
}
