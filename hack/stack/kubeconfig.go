package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// writeKubeconfig writes a kubeconfig that stands alone: the keys are inside. JSON is YAML, so kubectl reads it.
func writeKubeconfig(path, server, context, user string, keys pki) error {
	var unread error
	read := func(name string) []byte {
		content, err := os.ReadFile(keys.file(name))
		unread = errors.Join(unread, err)
		return content
	}
	type named map[string]any
	config := map[string]any{
		"apiVersion":      "v1",
		"kind":            "Config",
		"current-context": context,
		"clusters":        []named{{"name": context, "cluster": named{"server": server, "certificate-authority-data": read("ca.crt")}}},
		"users":           []named{{"name": user, "user": named{"client-certificate-data": read(user + ".crt"), "client-key-data": read(user + ".key")}}},
		"contexts":        []named{{"name": context, "context": named{"cluster": context, "user": user}}},
	}
	if unread != nil {
		return fmt.Errorf("reading the keys for a kubeconfig: %w", unread)
	}
	raw, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding a kubeconfig: %w", err)
	}
	return writeFile(path, append(raw, '\n'), 0o600)
}
