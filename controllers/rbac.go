package controllers

// What the manager may do, cluster-wide; `make manifests` turns it into
// config/rbac/role.yaml. Election and the metrics' authentication have roles of
// their own beside that file. Anything that isn't used here is left out: the
// manager holds other people's workloads, and reads no Secret.

// The BillableJobs. The right to update finalizers lets it own the attempts'
// objects with blockOwnerDeletion; deletion is for ttlSecondsAfterFinished.
//
// +kubebuilder:rbac:groups=billing.recoup.dev,resources=billablejobs,verbs=get;list;watch;update;patch;delete
// +kubebuilder:rbac:groups=billing.recoup.dev,resources=billablejobs/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=billing.recoup.dev,resources=billablejobs/finalizers,verbs=update

// The workloads: attempts are created and stopped, and every watched one gets a
// finalizer, a label and a claim by patch.
//
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete

// Events, in both of their API groups: the election still writes to the older one.
//
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// The UID of kube-system is the cluster's name in the books unless a setting
// gives one; the installed CRD is compared at start with the one that this
// release needs.
//
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=billablejobs.billing.recoup.dev,verbs=get
