package e2e

import (
	"context"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
)

// managerNamespace is where `make deploy` puts the manager.
const managerNamespace = "recoup-system"

// useServiceAccount applies the roles of an installation and makes a kubeconfig with the manager's own rights, so that
// whatever the suite does shows that they suffice.
func useServiceAccount(ctx context.Context) error {
	tree := filepath.Join(workDir, "rbac")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		return err
	}
	rbac, err := filepath.Abs("../../config/rbac")
	if err != nil {
		return err
	}
	relative, err := filepath.Rel(tree, rbac)
	if err != nil {
		return err
	}
	kustomization := "namespace: " + managerNamespace + "\nnamePrefix: recoup-\nresources:\n- namespace.yaml\n- " + relative + "\n"
	namespace := "apiVersion: v1\nkind: Namespace\nmetadata: {name: system}\n"
	if err := os.WriteFile(filepath.Join(tree, "kustomization.yaml"), []byte(kustomization), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tree, "namespace.yaml"), []byte(namespace), 0o644); err != nil {
		return err
	}
	if err := command(ctx, "kubectl", "apply", "--server-side", "--force-conflicts", "-k", tree); err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "recoup-manager", Namespace: managerNamespace}}
	token, err := tokenFor(ctx, account)
	if err != nil {
		return err
	}
	asManager = filepath.Join(workDir, "manager.kubeconfig")
	return writeKubeconfig(asManager, token)
}

func tokenFor(ctx context.Context, account *corev1.ServiceAccount) (string, error) {
	seconds := int64(3600)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if err := c.SubResource("token").Create(ctx, account, request); err != nil {
		return "", err
	}
	return request.Status.Token, nil
}

func writeKubeconfig(path, token string) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"stack": {
			Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData, InsecureSkipTLSVerify: config.Insecure,
		}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"user": {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{"stack": {Cluster: "stack", AuthInfo: "user"}},
		CurrentContext: "stack",
	}, path)
}
