// Command recoup sells GPU jobs for credits and keeps the books right.
package main

import (
	"context"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"recoup.dev/recoup/internal/cli"
)

func main() {
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "recoup:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	return cli.New(runManager).ExecuteContext(ctx)
}
