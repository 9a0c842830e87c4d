package ledger

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// lossy is a proxy before the server that can lose one reply: the server has
// applied the command, and the client's connection ends.
type lossy struct {
	listener net.Listener
	server   string
	mu       sync.Mutex
	losing   func(request []byte) bool
	lost     int
}

func newLossy(t *testing.T, server string) *lossy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	p := &lossy{listener: listener, server: server}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

// lose loses the reply to each request that matches, up to n of them.
func (p *lossy) lose(n int, match func(request []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = 0
	p.losing = func(request []byte) bool {
		if p.lost == n || !match(request) {
			return false
		}
		p.lost++
		return true
	}
}

func (p *lossy) losesReplyTo(request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.losing != nil && p.losing(request)
}

func (p *lossy) lostReplies() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// serve passes on requests and replies in turn, which is how the driver uses a
// connection (a monitoring connection that streams just ends here).
func (p *lossy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	for {
		request, err := message(client)
		if err != nil {
			return
		}
		lose := p.losesReplyTo(request)
		if _, err := server.Write(request); err != nil {
			return
		}
		reply, err := message(server)
		if err != nil || lose {
			return
		}
		if _, err := client.Write(reply); err != nil {
			return
		}
	}
}

// message reads one message of the wire protocol, which starts with its length.
func message(from io.Reader) ([]byte, error) {
	size := make([]byte, 4)
	if _, err := io.ReadFull(from, size); err != nil {
		return nil, err
	}
	whole := make([]byte, binary.LittleEndian.Uint32(size))
	copy(whole, size)
	_, err := io.ReadFull(from, whole[4:])
	return whole, err
}

// through is the URI of the server by way of the proxy.
func (p *lossy) through(t *testing.T, uri string) string {
	t.Helper()
	parsed, err := url.Parse(uri)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	parsed.Host = p.listener.Addr().String()
	query := parsed.Query()
	query.Del("replicaSet")
	query.Set("directConnection", "true")
	// The proxy can't stream.
	query.Set("serverMonitoringMode", "poll")
	parsed.RawQuery = query.Encode()
	if parsed.Path == "" {
		parsed.Path = "/"
	}
	return parsed.String()
}

// firstHost is where the server listens.
func firstHost(t *testing.T, uri string) string {
	t.Helper()
	parsed, err := url.Parse(uri)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	host, _, _ := strings.Cut(parsed.Host, ",")
	if !strings.Contains(host, ":") {
		host += ":27017"
	}
	return host
}

func TestALostReplyIsSuccessWhenTheCallIsRepeated(t *testing.T) {
	t.Parallel()
	uri := mongoURI(t)
	direct := newBooks(t)
	database := direct.jobs.Database().Name()

	// The collection's name follows the command's in the message.
	onJobs := func(r []byte) bool {
		return bytes.Contains(r, []byte("update\x00\x05\x00\x00\x00jobs\x00")) || bytes.Contains(r, []byte("insert\x00\x05\x00\x00\x00jobs\x00"))
	}
	onLedger := func(r []byte) bool { return bytes.Contains(r, []byte("update\x00\x07\x00\x00\x00ledger\x00")) }

	for what, match := range map[string]func([]byte) bool{"document": onJobs, "rows": onLedger} {
		for edge, path := range map[string]string{
			"charge": "", "deliver": "charge", "refund0": "charge", "reclaim": "charge,refund0",
			"again1": "charge,refund0", "dead1": "charge,refund0", "redrive0": "charge,dead0",
		} {
			// Where the server supports retryable writes, the driver repeats a
			// write once by itself: with two replies lost, it gives up, too.
			for replies := 1; replies <= 2; replies++ {
				name := fmt.Sprintf("%s/%s/%d", what, edge, replies)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					g := NewWithT(t)
					proxy := newLossy(t, firstHost(t, uri))
					store, err := Open(Config{URI: proxy.through(t, uri), Database: database, Timeout: 20 * time.Second})
					g.Expect(err).NotTo(HaveOccurred())
					t.Cleanup(func() { _ = store.Close(context.Background()) })
					g.Expect(store.Prepare(t.Context())).To(Succeed())
					job := direct.walk(t, aJob("lost-"+name), path)

					proxy.lose(replies, match)
					_, outcome, err := triedEdges[edge](t.Context(), store, job)
					for range replies {
						if err != nil {
							g.Expect(word(outcome, err)).To(ContainSubstring("c1/team-a/lost-" + name))
							_, outcome, err = triedEdges[edge](t.Context(), store, job)
							if err == nil {
								g.Expect(outcome).To(Equal(AlreadyThere))
							}
						}
					}
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(proxy.lostReplies()).To(BeNumerically(">", 0))
					g.Expect(direct.rows(t, job.ID)).To(Equal(rowsAfter(path + "," + edge)))
				})
			}
		}
	}
}

func TestAServerThatIsAwayIsAnErrorInTimeThatSaysWhatWasTried(t *testing.T) {
	t.Parallel()
	// A port on which nothing listens any more.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	away := listener.Addr().String()
	g.Expect(listener.Close()).To(Succeed())
	awayInTime(t, away)
}

func TestAServerThatNeverAnswersIsAnErrorInTimeThatSaysWhatWasTried(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	awayInTime(t, listener.Addr().String())
}

func awayInTime(t *testing.T, host string) {
	t.Helper()
	g := NewWithT(t)
	store, err := Open(Config{URI: "mongodb://user:secret@" + host, Database: "nowhere", Timeout: 300 * time.Millisecond})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = store.Close(context.Background()) })
	// As if it had been there before.
	store.prepared.Store(true)
	ctx := t.Context()
	for what, call := range map[string]func() error{
		"ping": func() error { return store.Ping(ctx) },
		`read of job "c1/team-a/x"`: func() error {
			_, err := store.Get(ctx, "c1/team-a/x")
			return err
		},
		`charge of job "c1/team-a/x"`: func() error { _, _, err := store.Charge(ctx, aJob("x")); return err },
		`delivery of job "c1/team-a/x"`: func() error {
			_, _, err := store.Deliver(ctx, aJob("x"), twentyPast)
			return err
		},
		`write of the rows of job "c1/team-a/x"`: func() error { return store.EnsureRows(ctx, aJob("x")) },
		`read of the rows of job "c1/team-a/x"`:  func() error { _, err := store.Rows(ctx, "c1/team-a/x"); return err },
		`balance of account "acme"`:              func() error { _, err := store.Balance(ctx, "acme"); return err },
		`dead letters of cluster "c1"`: func() error {
			for _, err := range store.DeadLettered(ctx, "c1") {
				return err
			}
			return nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			started := time.Now()
			err := call()
			g.Expect(time.Since(started)).To(BeNumerically("<", 3*time.Second))
			g.Expect(err).To(HaveOccurred())
			g.Expect(err.Error()).To(HavePrefix(what + ` in database "nowhere" at ` + host + ":"))
			g.Expect(err.Error()).NotTo(ContainSubstring("secret"))
			for _, decided := range []error{ErrConflict, ErrLost, ErrNotCharged, ErrSchema, ErrInvalid} {
				g.Expect(err).NotTo(MatchError(decided))
			}
		})
	}
	g.Expect(store.prepared.Load()).To(BeTrue())
}
