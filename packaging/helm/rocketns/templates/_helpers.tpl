{{- define "rocketns.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "rocketns.headless" -}}
{{ include "rocketns.fullname" . }}-headless
{{- end }}

{{- define "rocketns.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "rocketns.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "rocketns.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rocketns.labels" -}}
{{ include "rocketns.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: nameserver
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "rocketns.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}
{{- end }}

{{/* All pods as host:port;host:port. `domain` is what follows the name of the headless service. */}}
{{- define "rocketns.pods" -}}
{{- $names := list -}}
{{- range $pod := until (int .root.Values.replicas) -}}
{{- $names = append $names (printf "%s-%d.%s%s:9876" (include "rocketns.fullname" $.root) $pod (include "rocketns.headless" $.root) $.domain) -}}
{{- end -}}
{{ join ";" $names }}
{{- end }}

{{/* A probe: HTTP where there is a management port, else a TCP connection. */}}
{{- define "rocketns.probe" -}}
{{- if .root.Values.admin.enabled -}}
httpGet: {path: {{ .path }}, port: admin}
{{- else -}}
tcpSocket: {port: nameserver}
{{- end }}
{{ toYaml .times }}
{{- end }}

{{/* The pod's security context, with the seccomp profile of the nodes where one is named. */}}
{{- define "rocketns.podSecurityContext" -}}
{{- $context := deepCopy .Values.podSecurityContext -}}
{{- with .Values.localhostProfile -}}
{{- $_ := set $context "seccompProfile" (dict "type" "Localhost" "localhostProfile" .) -}}
{{- end -}}
{{ toYaml $context }}
{{- end }}
