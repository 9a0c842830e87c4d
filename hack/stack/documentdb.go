package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	documentDBSuite   = "forky" // the first Debian that has the package
	documentDBPackage = "postgresql-18-documentdb"
	documentDBVersion = "forky"
	postgresPrograms  = "/usr/lib/postgresql/18/bin/"
	debianKeys        = "/usr/share/keyrings/debian-archive-keyring.gpg"
)

// installDocumentDB makes a folder with a small Debian and PostgreSQL with DocumentDB in it.
//
//go:embed documentdb-install.sh
var installDocumentDB string

// runDocumentDB turns itself into the PostgreSQL of such a folder.
//
//go:embed documentdb-run.sh
var runDocumentDB string

// documentDBRefusal says why DocumentDB can't be installed here, or nil.
func documentDBRefusal() error {
	if err := aptRefusal(); err != nil {
		return err
	}
	if _, err := exec.LookPath("unshare"); err != nil {
		return errors.New("there is no unshare here")
	}
	return nil
}

// planDocumentDB adds PostgreSQL with DocumentDB, and FerretDB in front of it.
func (s *stack) planDocumentDB(ctx context.Context) error {
	var root, ferret string
	err := together(ctx,
		func(ctx context.Context) (err error) { root, err = s.documentDBRoot(ctx); return err },
		func(ctx context.Context) (err error) { ferret, err = s.buildFerret(ctx); return err })
	if err != nil {
		return err
	}
	port, err := s.port("documentdb")
	if err != nil {
		return err
	}
	data := filepath.Join(s.data(), "documentdb")
	s.add(server{
		part:    part{Name: "documentdb", Version: documentDBVersion, Address: loopback(port), Probe: "postgres://" + loopback(port)},
		data:    data,
		ports:   []string{"documentdb"},
		command: []string{"unshare", "--mount", "sh", "-euc", runDocumentDB, "documentdb", root, data, strconv.Itoa(port), postgresPrograms},
		signal:  syscall.SIGINT, // PostgreSQL's "fast" shutdown: it doesn't wait for its clients
		onReady: func(ctx context.Context) error { return s.createExtension(ctx, root, port) },
	})
	return s.planFerret(ferret, "postgres://postgres@"+loopback(port)+"/postgres")
}

// documentDBRoot returns the folder to run PostgreSQL in.
func (s *stack) documentDBRoot(ctx context.Context) (string, error) {
	a := artifact{name: "documentdb", version: documentDBVersion, inputs: []string{documentDBSuite, documentDBPackage, installDocumentDB}}
	a.make = func(ctx context.Context, into, log string) error {
		if _, err := exec.LookPath("debootstrap"); err != nil {
			if err := aptInstall(ctx, s.cache, "debootstrap"); err != nil {
				return err
			}
		}
		if _, err := os.Stat(debianKeys); err != nil {
			if err := aptInstall(ctx, s.cache, "debian-archive-keyring"); err != nil {
				return err
			}
		}
		mirror, err := debianMirror(ctx, s.cache)
		if err != nil {
			return err
		}
		proxy, err := aptProxy(ctx)
		if err != nil {
			return err
		}
		// A mount namespace of its own: whatever is mounted on the way is gone with the last process.
		return command{log: log, env: proxy, args: []string{"unshare", "--mount", "sh", "-euxc", installDocumentDB, "install",
			into, documentDBSuite, mirror, documentDBPackage, debianKeys}}.run(ctx)
	}
	return a.get(ctx, s.cache)
}

// createExtension retries for as long as PostgreSQL is still starting up.
func (s *stack) createExtension(ctx context.Context, root string, port int) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	sql := command{log: s.logOf("documentdb-setup"), args: []string{"chroot", root, postgresPrograms + "psql", "--no-psqlrc", "--quiet",
		"--host=127.0.0.1", "--port", strconv.Itoa(port), "--username=postgres", "--dbname=postgres", "--set=ON_ERROR_STOP=1",
		"--command", "CREATE EXTENSION IF NOT EXISTS documentdb CASCADE"}}
	for {
		err := sql.run(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("creating the extension documentdb: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// debianMirror returns the URL that the machine's own apt takes Debian from.
func debianMirror(ctx context.Context, cache string) (string, error) {
	ask := command{args: []string{"apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(SITE)", "Created-By: Packages"}}
	for range 2 {
		out, err := ask.output(ctx)
		if err != nil {
			return "", fmt.Errorf("asking apt for its mirror: %w", err)
		}
		if mirror := mirrorIn(out); mirror != "" {
			return mirror, nil
		}
		// Without its lists, apt doesn't know whose archive it is.
		if err := aptLists(ctx, cache); err != nil {
			return "", err
		}
	}
	return "", errors.New("apt takes Debian's packages from nowhere here; set MONGODB_URI, install mongod or start a Docker engine")
}

// mirrorIn picks Debian's own archive out of lines "origin|label|site".
func mirrorIn(targets string) string {
	for line := range strings.Lines(targets) {
		site, found := strings.CutPrefix(strings.TrimSpace(line), "Debian|Debian|")
		if found && (strings.HasPrefix(site, "http://") || strings.HasPrefix(site, "https://")) {
			return site
		}
	}
	return ""
}

// aptProxy returns the variables that make debootstrap, and apt inside of the folder, use apt's proxy if it has one.
func aptProxy(ctx context.Context) ([]string, error) {
	var env []string
	for _, scheme := range []string{"http", "https"} {
		out, err := command{args: []string{"apt-config", "dump", "--format", "%v%n", "Acquire::" + scheme + "::Proxy"}}.output(ctx)
		if err != nil {
			return nil, fmt.Errorf("asking apt for its proxy: %w", err)
		}
		if proxy := strings.TrimSpace(out); proxy != "" && proxy != "DIRECT" {
			env = append(env, scheme+"_proxy="+proxy)
		}
	}
	return env, nil
}
