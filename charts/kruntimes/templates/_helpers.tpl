{{- define "kruntimes.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains "kruntimes" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-kruntimes" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "kruntimes.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Of (dict "root" $ "component" NAME): what selects the Pods of a component. */}}
{{- define "kruntimes.selector" -}}
app.kubernetes.io/name: kruntimes
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "kruntimes.labels" -}}
{{ include "kruntimes.selector" . }}
app.kubernetes.io/part-of: kruntimes
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Of (dict "root" $ "component" NAME): the name of what belongs to a component. */}}
{{- define "kruntimes.componentName" -}}
{{ include "kruntimes.fullname" .root }}-{{ .component }}
{{- end -}}

{{/* The ClusterRole that the controller binds the agents of each Runtime to. */}}
{{- define "kruntimes.agentRole" -}}
{{ include "kruntimes.fullname" . }}-agent
{{- end -}}

{{- define "kruntimes.username" -}}
system:serviceaccount:{{ .root.Release.Namespace }}:{{ include "kruntimes.componentName" . }}
{{- end -}}
