import com.marcnuri.helm.Helm;
import com.marcnuri.helm.LintResult;
import com.marcnuri.helm.TemplateCommand;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Base64;
import java.util.Deque;
import java.util.List;
import java.util.stream.Stream;

/**
 * The part of helm's command line that the tests use, by helm as a library: {@code template NAME CHART --set NAME=VALUE}
 * and {@code lint --strict CHART}. The library takes Kubernetes for 1.20 and cannot be told otherwise, so
 * {@code --kube-version} is passed over, and the chart is read without its demand for a version.
 *
 * <p>Each line of the standard input is a command, its words between tabs. The answer is a line with status and Base64.
 */
public final class HelmProgram {
    public static void main(String[] arguments) throws IOException {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            Deque<String> words = new ArrayDeque<>(Arrays.asList(line.split("\t")));
            try {
                answer(0, "lint".equals(words.remove()) ? lint(words) : template(words));
            } catch (IllegalStateException error) {
                answer(1, error.getMessage());
            }
        }
    }

    private static void answer(int status, String text) {
        System.out.println(status + " " + Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8)));
    }

    private static String template(Deque<String> words) throws IOException {
        String name = words.remove();
        TemplateCommand command = new Helm(withoutItsDemand(Path.of(words.remove()))).template().withName(name);
        while (!words.isEmpty()) {
            String option = words.remove();
            String[] value = words.remove().split("=", 2);
            if (option.equals("--set")) {
                command.set(value[0], value[1]);
            }
        }
        return command.call();
    }

    private static String lint(Deque<String> words) throws IOException {
        words.remove("--strict");
        LintResult result = new Helm(withoutItsDemand(Path.of(words.remove()))).lint().strict().call();
        String messages = String.join("\n", result.getMessages());
        if (result.isFailed()) {
            throw new IllegalStateException(messages);
        }
        return messages;
    }

    private static Path withoutItsDemand(Path chart) throws IOException {
        Path folder = Files.createTempDirectory("chart");
        folder.toFile().deleteOnExit();
        Path copy = folder.resolve(chart.getFileName());
        try (Stream<Path> files = Files.walk(chart)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                Files.copy(file, copy.resolve(chart.relativize(file).toString())).toFile().deleteOnExit();
            }
        }
        List<String> lines = Files.readAllLines(chart.resolve("Chart.yaml"));
        Files.write(copy.resolve("Chart.yaml"), lines.stream().filter(line -> !line.startsWith("kubeVersion:")).toList());
        return copy;
    }
}
