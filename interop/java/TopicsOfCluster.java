import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Asks the name server for the topics of a cluster, which no command of mqadmin does. Arguments: name servers, cluster.
 * Prints TOPIC name for each, or FAILED reason; then DONE.
 */
public class TopicsOfCluster {
    public static void main(String[] args) throws Exception {
        DefaultMQAdminExt admin = new DefaultMQAdminExt(Keys.hook());
        admin.setNamesrvAddr(args[0]);
        admin.start();
        try {
            admin.fetchTopicsByCLuster(args[1]).getTopicList().forEach(topic -> System.out.println("TOPIC " + topic));
        } catch (Exception e) {
            System.out.println("FAILED " + e.toString().replace('\n', ' '));
        }
        System.out.println("DONE");
        admin.shutdown();
    }
}
