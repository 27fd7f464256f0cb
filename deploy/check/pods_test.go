package check

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// The account of the node-wide shipper may list and watch pods and nothing else, has its token where the shipper
// looks for it. TestConfigurations has its configuration.
func TestPodMetadata(t *testing.T) {
	t.Parallel()
	var role rbacv1.ClusterRole
	var binding rbacv1.ClusterRoleBinding
	for _, o := range render(t, "pod-metadata") {
		var err error
		switch o.Kind {
		case "ClusterRole":
			err = yaml.UnmarshalStrict(o.text, &role)
		case "ClusterRoleBinding":
			err = yaml.UnmarshalStrict(o.text, &binding)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(role.Rules) != 1 || !slices.Equal(role.Rules[0].Resources, []string{"pods"}) || !slices.Equal(role.Rules[0].Verbs, []string{"list", "watch"}) {
		t.Errorf("rules %+v", role.Rules)
	}
	for _, w := range workloads(t, "pod-metadata") {
		pod := w.template.Spec
		var mounts []corev1.VolumeMount
		for _, c := range pod.Containers {
			mounts = append(mounts, c.VolumeMounts...)
		}
		i := slices.IndexFunc(mounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/var/run/secrets/kubernetes.io/serviceaccount" })
		if got := i >= 0; got != (w.name == "logstow-node") {
			t.Errorf("%s: token mounted: %v", w.name, got)
		}
		if i < 0 {
			continue
		}
		subject := binding.Subjects[0]
		if binding.RoleRef.Name != role.Name || subject.Name != pod.ServiceAccountName || subject.Namespace != namespace {
			t.Errorf("binding %+v of %+v to account %s", binding.RoleRef, subject, pod.ServiceAccountName)
		}
		v := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mounts[i].Name })
		if v < 0 || pod.Volumes[v].Projected == nil || len(pod.Volumes[v].Projected.Sources) != 2 {
			t.Errorf("volumes %+v", pod.Volumes)
		}
	}
}
