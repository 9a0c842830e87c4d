package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func valid() ManagerOptions {
	return ManagerOptions{Database: "recoup", Jitter: 0.2, Concurrency: 1, PushGrace: time.Second, Lease: time.Second, StoreTimeout: time.Second, StopTimeout: time.Second}
}

func TestSecretsComeFromTheEnvironmentOrFromFiles(t *testing.T) {
	o := valid()
	err := o.complete(environment(map[string]string{"MONGODB_URI": "mongodb://m", "REDIS_URL_FILE": "/secret"}),
		func(string) ([]byte, error) { return []byte("redis://r\n"), nil })
	if err != nil || o.MongoURI != "mongodb://m" || o.RedisURL != "redis://r" {
		t.Errorf("got %q and %q (%v)", o.MongoURI, o.RedisURL, err)
	}
}

func TestOptionsThatCantWorkAreRefused(t *testing.T) {
	both := map[string]string{"MONGODB_URI": "m", "REDIS_URL": "r"}
	for _, c := range []struct {
		name    string
		env     map[string]string
		change  func(*ManagerOptions)
		message string
	}{
		{"no books", map[string]string{"REDIS_URL": "r"}, func(*ManagerOptions) {}, "MONGODB_URI is not set; set it, or MONGODB_URI_FILE"},
		{"no lane", map[string]string{"MONGODB_URI": "m"}, func(*ManagerOptions) {}, "REDIS_URL is not set"},
		{"neither", nil, func(*ManagerOptions) {}, "REDIS_URL is not set"},
		{"both forms", map[string]string{"MONGODB_URI": "m", "MONGODB_URI_FILE": "f", "REDIS_URL": "r"}, func(*ManagerOptions) {}, "unset one of them"},
		{"unreadable file", map[string]string{"MONGODB_URI_FILE": "f", "REDIS_URL": "r"}, func(*ManagerOptions) {}, "reading MONGODB_URI_FILE"},
		{"jitter", both, func(o *ManagerOptions) { o.Jitter = 1.5 }, "--retry-jitter is 1.5; give a number from 0 to 1"},
		{"concurrency", both, func(o *ManagerOptions) { o.Concurrency = 0 }, "--concurrency is 0"},
		{"cluster", both, func(o *ManagerOptions) { o.Cluster = "a/b" }, `--cluster is "a/b"; it must not have slashes`},
		{"database", both, func(o *ManagerOptions) { o.Database = "a.b" }, `--database is "a.b", which MongoDB doesn't take`},
		{"lease", both, func(o *ManagerOptions) { o.Lease = -time.Second }, "--retry-lease is -1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := valid()
			c.change(&o)
			err := o.complete(environment(c.env), func(string) ([]byte, error) { return nil, os.ErrNotExist })
			if err == nil || !strings.Contains(err.Error(), c.message) {
				t.Errorf("error is %v, want one with %q", err, c.message)
			}
		})
	}
}

func TestHelpListsEveryVariable(t *testing.T) {
	cmd := New(func(context.Context, ManagerOptions) error { return errors.New("must not run") })
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"manager", "--help"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"MONGODB_URI ", "MONGODB_URI_FILE", "REDIS_URL ", "REDIS_URL_FILE", "KUBECONFIG", "--leader-elect", "--accept-signals", "--zap-log-level"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help doesn't mention %s", want)
		}
	}
	if strings.Contains(out.String(), "--mongo") || strings.Contains(out.String(), "--redis-url") {
		t.Error("there is a flag for a secret")
	}
}

// TestReadmeListsEveryFlag compares the table in the README with the flags. With UPDATE_README=1 it writes the table.
func TestReadmeListsEveryFlag(t *testing.T) {
	const readme, begin, end = "../../README.md", "<!-- flags:begin -->\n", "<!-- flags:end -->"
	content, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the README has lost the marks of its table of flags")
	}
	var table strings.Builder
	cmd, _, err := New(nil).Find([]string{"manager"})
	if err != nil {
		t.Fatal(err)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Name, "zap-") || f.Name == "help" {
			return
		}
		value := f.DefValue
		if value == "" {
			value = " "
		} else {
			value = "`" + value + "`"
		}
		table.WriteString("| `--" + f.Name + "` | " + value + " | " + f.Usage + " |\n")
	})
	table.WriteString("| `--zap-log-level` and others | | logging, as controller-runtime has it |\n")
	want := before + begin + table.String() + end + after
	if os.Getenv("UPDATE_README") == "1" {
		if err := os.WriteFile(readme, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(content) != want {
		t.Error("the README's table of flags is not current: run `UPDATE_README=1 go test ./internal/cli`")
	}
}
