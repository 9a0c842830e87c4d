package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const modulePath = "recoup.dev/recoup"

// cacheRoot is the folder outside of the checkout that holds what was built, and the stacks' own folders.
func cacheRoot() (string, error) {
	if dir := os.Getenv("RECOUP_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a cache folder (set RECOUP_CACHE to choose one): %w", err)
	}
	return filepath.Join(base, "recoup"), nil
}

// checkoutRoot is the folder of the go.mod above the working directory, which must be this project's.
func checkoutRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", fmt.Errorf("resolving the working directory: %w", err)
	}
	for start := dir; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module "+modulePath+"\n") {
			return dir, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("looking for the checkout: %w", err)
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is in no checkout of %s: run this from inside one", start, modulePath)
		}
	}
}

// stackFolder is where the stack of this name and checkout keeps its state. Another checkout or name has another one.
func stackFolder(cache, checkout, name string) string {
	sum := sha256.Sum256([]byte(checkout))
	return filepath.Join(cache, "stacks", filepath.Base(checkout)+"-"+hex.EncodeToString(sum[:4]), name)
}

// validName accepts what is safe as a folder's name and reads well in a log.
func validName(name string) error {
	if name == "" || len(name) > 32 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || name[0] == '-' {
		return fmt.Errorf("the stack's name %q isn't usable: take up to 32 lower-case letters, digits and hyphens, not starting with a hyphen", name)
	}
	return nil
}
