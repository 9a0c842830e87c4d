// Command stack runs the servers that Recoup's tests and demo need: a Kubernetes control plane with simulated GPU nodes, a
// server that speaks MongoDB's protocol and a Redis. It promises that they listen on the loopback interface alone, that
// two checkouts or two names never meet, and that nothing is left running after `down`. It builds what the machine lacks
// and keeps it in a cache outside of the checkout. It never stops a server that it didn't start.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

const usage = `usage: stack <command> [--name NAME]

  up       start what doesn't run yet
  status   show the parts; exits 1 if one isn't well
  down     stop all parts and remove their data; the logs stay
  env      print the variables that point at the stack, for a shell's eval
  run      [--race] -- COMMAND...   run a command with the stack, and take down what was brought up for it;
           --race first installs a C compiler if there is none

NAME is dev by default. Stacks of other names and of other checkouts run beside each other.
RECOUP_CACHE is the folder for what is built and for the stacks' state and logs.
MONGODB_URI, REDIS_URL and KUBEBUILDER_ASSETS, where set, are used in place of servers and programs of the stack's own.
`

func main() {
	ctx, cancel := untilSignal()
	code, err := dispatch(ctx, os.Args[1:])
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stack:", err)
		code = max(code, 1)
		var signalled interrupted
		if errors.As(err, &signalled) {
			code = 128 + int(signalled.signal)
		}
	}
	os.Exit(code)
}

func dispatch(ctx context.Context, args []string) (code int, err error) {
	if len(args) == 0 || args[0] == "help" || args[0] == "--help" || args[0] == "-h" {
		_, err := fmt.Print(usage)
		return 0, err
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	name := flags.String("name", "dev", "")
	race := flags.Bool("race", false, "")
	flags.SetOutput(io.Discard) // the error is returned
	if err := flags.Parse(args[1:]); err != nil {
		return 2, fmt.Errorf("%w\n%s", err, usage)
	}
	if err := forgetOwn(); err != nil {
		return 2, err
	}
	s, err := openStack(*name)
	if err != nil {
		return 2, err
	}
	if args[0] == "run" {
		return s.runCommand(ctx, *race, flags.Args())
	}
	if flags.NArg() > 0 || *race {
		return 2, fmt.Errorf("%s takes no more than --name\n%s", args[0], usage)
	}
	return s.manage(ctx, args[0])
}

func (s *stack) runCommand(ctx context.Context, race bool, args []string) (code int, err error) {
	if len(args) == 0 {
		return 2, fmt.Errorf("run what?\n%s", usage)
	}
	if race {
		if err := s.ensureCompiler(ctx); err != nil {
			return 1, err
		}
	}
	return s.run(ctx, args)
}

func (s *stack) manage(ctx context.Context, command string) (code int, err error) {
	switch command {
	case "status", "env": // they only read
		if s.state, err = readState(s.dir); err != nil {
			return 1, err
		}
		if command == "env" {
			return 0, s.printVariables()
		}
		well, err := s.status(ctx, os.Stdout)
		if !well {
			code = 1
		}
		return code, err
	case "up", "down":
		unlock, err := s.lock(ctx)
		if err != nil {
			return 1, err
		}
		defer unlock()
		if command == "down" {
			return 0, s.down(ctx)
		}
		if err := s.update(func(st *state) { st.Kept = true }); err != nil {
			return 1, err
		}
		return 0, s.up(ctx)
	}
	return 2, fmt.Errorf("no command %q\n%s", command, usage)
}

func (s *stack) printVariables() error {
	all, err := s.variables()
	if err != nil {
		return err
	}
	for _, variable := range all {
		name, value, _ := strings.Cut(variable, "=")
		fmt.Printf("export %s=%s\n", name, quote(value))
		if slices.Contains(replacing, name) {
			fmt.Printf("export %s%s=%s\n", ownPrefix, name, quote(value))
		}
	}
	return nil
}

// quote makes a shell take the value as it is.
func quote(value string) string {
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
