import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Paths;

import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * mqadmin, one command after the other in one process: its start costs more than a command. The argument is a file with
 * a command in each line, its words between tabs. Prints ENDED n behind what the n-th command has printed.
 */
public class MqAdmin {
    public static void main(String[] args) throws Exception {
        try (BufferedReader commands = Files.newBufferedReader(Paths.get(args[0]))) {
            int n = 0;
            for (String line = commands.readLine(); line != null; line = commands.readLine()) {
                MQAdminStartup.main(line.split("\t"));
                System.out.println("ENDED " + ++n);
            }
        }
    }
}
