package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"
)

// status writes a table of the parts and tells if all of them are well.
func (s *stack) status(ctx context.Context, out io.Writer) (well bool, err error) {
	parts := s.state.Parts
	if len(parts) == 0 {
		_, err := fmt.Fprintf(out, "The stack %s isn't up: run make stack-up.\n", s.name)
		return false, err
	}
	conditions := make([]string, len(parts))
	var wg sync.WaitGroup
	for i, p := range parts {
		wg.Go(func() { conditions[i] = s.condition(ctx, p) })
	}
	wg.Wait()
	well = len(s.state.Exports) > 0
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tVERSION\tPID\tADDRESS\tSTATE\tLOG")
	for i, p := range parts {
		pid := "-"
		if !p.External {
			pid = fmt.Sprint(p.Process.PID)
		}
		well = well && conditions[i] == "healthy"
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", p.Name, p.Version, pid, p.Address, conditions[i], p.Log)
	}
	return well, table.Flush()
}

func (s *stack) condition(ctx context.Context, p part) string {
	if !p.External && !p.Process.alive() {
		return "ended"
	}
	if err := probeFor(ctx, s.data(), p, 5*time.Second); err != nil {
		return "unhealthy: " + firstLine(err)
	}
	return "healthy"
}
