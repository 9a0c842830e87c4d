// Package cli is the recoup command: its subcommands, flags, environment and help texts. It starts nothing itself; what a
// subcommand runs is handed to it.
package cli

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is set by the linker when a release is built.
var Version = ""

// New returns the recoup command, whose manager subcommand calls run.
func New(run func(context.Context, ManagerOptions) error) *cobra.Command {
	root := &cobra.Command{
		Use:           "recoup",
		Short:         "Sells GPU jobs for credits and keeps the books right",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(managerCommand(run), versionCommand())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "recoup", version())
			return err
		},
	}
}

func version() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
