{{/* Name of the Secret that the webhook mounts. */}}
{{- define "kruntimes.webhook.secret" -}}
{{- if eq .Values.webhook.tls.source "secret" -}}
{{ required "webhook.tls.existingSecret is missing: name the kubernetes.io/tls Secret, or choose another webhook.tls.source" .Values.webhook.tls.existingSecret }}
{{- else -}}
{{ include "kruntimes.fullname" . }}-webhook-tls
{{- end -}}
{{- end -}}

{{/*
Certificate and authority of the chart as JSON {ca, cert, key}: what the cluster has, else new ones. The authority outlives
the certificate, so that a new certificate is trusted at once by what knows the authority.
*/}}
{{- define "kruntimes.webhook.chartTls" -}}
{{- $name := include "kruntimes.fullname" . -}}
{{- $days := int .Values.webhook.tls.validDays -}}
{{- $leaf := lookup "v1" "Secret" .Release.Namespace (printf "%s-webhook-tls" $name) -}}
{{- $root := lookup "v1" "Secret" .Release.Namespace (printf "%s-ca" $name) -}}
{{- $ca := dict -}}
{{- if and $root (hasKey ($root.data | default dict) "tls.crt") -}}
{{- $ca = buildCustomCert (index $root.data "tls.crt") (index $root.data "tls.key") -}}
{{- else -}}
{{- $ca = genCA (printf "%s-ca" $name) $days -}}
{{- $leaf = dict -}}
{{- end -}}
{{- if and $leaf (hasKey ($leaf.data | default dict) "tls.crt") -}}
{{- dict "ca" $ca.Cert "caKey" $ca.Key "cert" (index $leaf.data "tls.crt" | b64dec) "key" (index $leaf.data "tls.key" | b64dec) | toJson -}}
{{- else -}}
{{- $service := printf "%s-webhook.%s.svc" $name .Release.Namespace -}}
{{- $cert := genSignedCert $service nil (list $service (printf "%s.cluster.local" $service)) $days $ca -}}
{{- dict "ca" $ca.Cert "caKey" $ca.Key "cert" $cert.Cert "key" $cert.Key | toJson -}}
{{- end -}}
{{- end -}}
