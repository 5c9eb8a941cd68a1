{{/* ClusterRole and binding of a component. Of a dict: root, component, rules (YAML text). */}}
{{- define "kruntimes.clusterRole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "kruntimes.componentName" . }}
  labels:
    {{- include "kruntimes.labels" . | nindent 4 }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ include "kruntimes.componentName" . }}
  labels:
    {{- include "kruntimes.labels" . | nindent 4 }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ include "kruntimes.componentName" . }} }
subjects:
  - { kind: ServiceAccount, name: {{ include "kruntimes.componentName" . }}, namespace: {{ .root.Release.Namespace }} }
{{- end -}}

{{/* The same in the namespace of the release. */}}
{{- define "kruntimes.role" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "kruntimes.componentName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "kruntimes.labels" . | nindent 4 }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "kruntimes.componentName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "kruntimes.labels" . | nindent 4 }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ include "kruntimes.componentName" . }} }
subjects:
  - { kind: ServiceAccount, name: {{ include "kruntimes.componentName" . }}, namespace: {{ .root.Release.Namespace }} }
{{- end -}}

{{/* The Lease by which the replicas of a component agree on one. */}}
{{- define "kruntimes.leaseRules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [kruntimes-{{ .component }}]
  verbs: [get, update]
{{- end -}}
