package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// probeFor asks a part whether it is well.
func probeFor(ctx context.Context, data string, p part, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return probe(ctx, data, p.Probe)
}

// probe asks a server whether it is well, in the manner of its URL. data is where the certificates are.
func probe(ctx context.Context, data, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	scheme, _, _ := strings.Cut(address, "://")
	switch scheme {
	case "http", "https":
		return probeHTTP(ctx, data, address)
	case "redis", "rediss":
		return probeRedis(ctx, address)
	case "mongodb", "mongodb+srv":
		return probeMongo(ctx, address)
	case "postgres":
		return probePostgres(ctx, strings.TrimPrefix(address, "postgres://"))
	}
	return fmt.Errorf("no way to ask a server at %q", hideUser(address))
}

func probeHTTP(ctx context.Context, data, address string) error {
	transport := &http.Transport{DisableKeepAlives: true}
	if strings.HasPrefix(address, "https:") {
		ca, err := os.ReadFile(filepath.Join(data, "pki", "ca.crt"))
		if err != nil {
			return fmt.Errorf("reading the certificate authority: %w", err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(ca)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("asking %s: %w", address, err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("asking for health: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return fmt.Errorf("reading the answer of %s: %w", address, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", address, response.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

func probeRedis(ctx context.Context, address string) (err error) {
	o, err := redis.ParseURL(address)
	if err != nil {
		return fmt.Errorf("reading the URL of Redis: %w", err)
	}
	o.MaxRetries = -1
	client := redis.NewClient(o)
	defer func() { err = errors.Join(err, client.Close()) }()
	if err := client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("pinging Redis: %w", err)
	}
	return nil
}

func probeMongo(ctx context.Context, address string) (err error) {
	client, err := mongo.Connect(options.Client().ApplyURI(address))
	if err != nil {
		return fmt.Errorf("reading the URI of MongoDB: %w", err)
	}
	defer func() { err = errors.Join(err, client.Disconnect(context.WithoutCancel(ctx))) }()
	if err := client.Ping(ctx, nil); err != nil {
		return fmt.Errorf("pinging MongoDB: %w", err)
	}
	return nil
}

// probePostgres asks whether encryption is on offer: the shortest question of the protocol, answered before any login.
func probePostgres(ctx context.Context, address string) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("asking PostgreSQL: %w", err)
	}
	defer connection.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := connection.SetDeadline(deadline); err != nil {
			return fmt.Errorf("asking PostgreSQL: %w", err)
		}
	}
	question := []byte{0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}
	if _, err := connection.Write(question); err != nil {
		return fmt.Errorf("asking PostgreSQL: %w", err)
	}
	answer, err := bufio.NewReader(connection).ReadByte()
	if err != nil {
		return fmt.Errorf("asking PostgreSQL: %w", err)
	}
	if answer != 'S' && answer != 'N' {
		return fmt.Errorf("what listens at %s isn't PostgreSQL", address)
	}
	return nil
}

// hideUser takes user and password out of a URL that people are to see.
func hideUser(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(unreadable URL)"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}
